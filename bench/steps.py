"""Milliseconds per step: UDIL, the bare loop, the limit, and the other methods."""

import copy
import sys
from functools import partial
from statistics import median
from typing import Any

import torch
from avalanche.benchmarks import CLExperience

from bench.laps import LapsPlugin, Timed, median_ratio, seconds
from bench.limit import MatmulRate, udil_flops
from bench.scale import Scale
from bench.workload import (
    PAPERS_FORMULAS,
    measured_settings,
    strategy_at_domain,
)
from udil_avalanche.data.tensor_dataset import tensor_source
from udil_avalanche.memory.balanced import BalancedMemory
from udil_avalanche.models.mlp import EncoderPredictor
from udil_avalanche.recipes import METHODS
from udil_avalanche.strategies.reference import Algorithm1

BATCH = 128
MEMORY_BATCHES = (128, 400)
PRODUCTS_PER_RATE = 5


def udil_step(memory_batch: int, t: int, scale: Scale) -> dict[str, float]:
    """UDIL's step compared with the bare loop and the limit, step by step in turns.

    The strategy computes the history model's logits once for the whole domain, the bare
    loop in each step. The strategy's time includes its share of that.

    :param memory_batch: samples of the memory in a step.
    :param t: the domain.
    :param scale: how much to measure.
    """
    laps = LapsPlugin()
    strategy, domain = strategy_at_domain(
        "UDIL",
        t,
        scale.steps,
        root=scale.root,
        plugins=[laps],
        config=PAPERS_FORMULAS,
        batch_size=BATCH,
        memory_batch=memory_batch,
    )
    memory: BalancedMemory = strategy.replay.memory
    laps.rivals = {
        "bare": bare_step(strategy.model, memory, domain, memory_batch),
        "limit": limit(memory_batch, t),
    }
    laps.restart()
    strategy.train(domain)
    once = once_per_domain(laps) / len(laps.steps)
    whole = [step + once for step in laps.steps]
    bare, least = laps.rival_times["bare"], laps.rival_times["limit"]
    return {
        "ms": 1e3 * median(whole),
        "of which once a domain": 1e3 * once,
        "bare loop ms": 1e3 * median(bare),
        "limit ms": 1e3 * median(least),
        "to bare loop": median_ratio(whole, bare),
        "to limit": median_ratio(whole, least),
        "GFLOP": udil_flops(BATCH, memory_batch, t) / 1e9,
    }


def once_per_domain(laps: LapsPlugin) -> float:
    """Seconds that a domain takes before its first step, plus those that its first step
    takes longer than the others.

    :param laps: the times of the domain's steps.
    """
    return laps.start + max(0.0, laps.steps[0] - median(laps.steps))


def bare_step(
    model: EncoderPredictor,
    memory: BalancedMemory,
    domain: CLExperience,
    memory_batch: int,
) -> Timed:
    """A step of the bare loop, with the settings of the strategy that is measured.

    :param model: the model as it is before the domain.
    :param memory: the memory.
    :param domain: the domain, of tensors.
    :param memory_batch: samples of the memory in a step.
    """
    settings: Any = measured_settings("UDIL", {}, PAPERS_FORMULAS)
    bare = Algorithm1(
        h=copy.deepcopy(model),
        memory=memory,
        make_optimizer=partial(torch.optim.Adam, lr=settings.lr, fused=True),
        epochs=sys.maxsize,
        batch_size=BATCH,
        batch_size_mem=memory_batch,
        c=settings.C,
        lambda_d=settings.lambda_d,
        lambda_p=settings.lambda_p,
        lambda_s=settings.lambda_s,
        cross_domain_threshold=settings.cross_domain_threshold,
        lr_discriminator=settings.lr_discriminator,
        lr_coefficients=settings.lr_coefficients,
    )
    source = tensor_source(domain.dataset)
    assert source is not None
    steps = bare.learn(*source.domain.batch(source.indices))
    next(steps)  # The first also prepares the domain.
    return lambda: seconds(lambda: next(steps))


def limit(memory_batch: int, t: int) -> Timed:
    """The least time of a step, at the current rate of matrix products.

    :param memory_batch: samples of the memory in a step.
    :param t: the domain.
    """
    rate, flops = MatmulRate(BATCH + memory_batch), udil_flops(BATCH, memory_batch, t)
    return lambda: flops / median(rate() for _ in range(PRODUCTS_PER_RATE))


def by_domain(scale: Scale) -> dict[str, Any]:
    """UDIL's step in several domains, each relative to the bare loop of the first one,
    which stays the same: this shows the growth with t.

    :param scale: how much to measure.
    """
    first = scale.domains[0]
    papers: dict[str, Any] = {"root": scale.root, "config": PAPERS_FORMULAS}
    earlier, domain = strategy_at_domain("UDIL", first, scale.steps, **papers)
    reference = bare_step(earlier.model, earlier.replay.memory, domain, 128)
    times, relative = {}, {}
    for t in scale.domains:
        laps = LapsPlugin({"reference": reference})
        strategy, domain = strategy_at_domain(
            "UDIL", t, scale.steps, plugins=[laps], memory_batch=128, **papers
        )
        laps.restart()
        strategy.train(domain)
        times[str(t)] = 1e3 * median(laps.steps)
        relative[str(t)] = median_ratio(laps.steps, laps.rival_times["reference"])
    last = relative[str(scale.domains[-1])]
    return {"ms": times, "growth": last / relative[str(first)] - 1}


def baseline_steps(scale: Scale) -> dict[str, dict[str, float]]:
    """The step of every method by its settings for rotated MNIST, its ratio to that of
    DER++, and its time after a domain. Methods in closed form take no steps.

    :param scale: how much to measure.
    """
    results = {}
    for name in METHODS:
        if METHODS[name].is_joint or METHODS[name].build_head is not None:
            continue
        laps = LapsPlugin()
        strategy, domain = strategy_at_domain(
            name, scale.t, scale.steps, root=scale.root, plugins=[laps]
        )
        laps.restart()
        whole = seconds(partial(strategy.train, domain))
        after = whole - laps.start - sum(laps.steps)
        results[name] = {
            "ms": 1e3 * median(laps.steps),
            "s after a domain": after,
        }
    reference = results["DER++"]["ms"]
    return {
        name: {**found, "to DER++": found["ms"] / reference}
        for name, found in results.items()
    }


__all__ = ["baseline_steps", "by_domain", "udil_step"]
