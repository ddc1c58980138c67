"""Milliseconds a step: UDIL, the same as a bare loop, the limit, and the baselines."""

import copy
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from statistics import median
from typing import Any

import torch
from avalanche.benchmarks import CLExperience
from torch import Tensor

from bench.bare_loop import BareUDIL
from bench.laps import LapsPlugin, Timed, median_ratio, seconds
from bench.limit import MatmulRate, udil_flops
from bench.scale import Scale
from bench.workload import strategy_at_domain
from udil_avalanche.data.tensor_dataset import tensor_source
from udil_avalanche.memory.balanced import BalancedMemory
from udil_avalanche.models.mlp import EncoderPredictor
from udil_avalanche.settings import STRATEGIES

BATCH = 128
MEMORY_BATCHES = (128, 400)
PRODUCTS_PER_RATE = 5


def udil_step(memory_batch: int, t: int, scale: Scale) -> dict[str, float]:
    """UDIL's step against the bare loop and the limit, step by step in turns.

    The strategy asks the history model about the whole domain once, the bare loop in
    each step: the strategy's time holds its share of that.

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
    """Seconds that a domain takes before its first step, and that its first step takes
    longer than the others.

    :param laps: of the domain.
    """
    return laps.start + max(0.0, laps.steps[0] - median(laps.steps))


def bare_step(
    model: EncoderPredictor,
    memory: BalancedMemory,
    domain: CLExperience,
    memory_batch: int,
) -> Timed:
    """A step of the bare loop.

    :param model: the model as it is before the domain.
    :param memory: the memory.
    :param domain: the domain.
    :param memory_batch: samples of the memory in a step.
    """
    bare = BareUDIL(
        copy.deepcopy(model),
        memory,
        len(domain.dataset),
        batch_size_mem=memory_batch,
    )
    batches = endless_batches(domain)
    return lambda: seconds(lambda: bare.step(*next(batches)))


def limit(memory_batch: int, t: int) -> Timed:
    """The least time of a step, at the rate at which matrices are multiplied now.

    :param memory_batch: samples of the memory in a step.
    :param t: the domain.
    """
    rate, flops = MatmulRate(BATCH + memory_batch), udil_flops(BATCH, memory_batch, t)
    return lambda: flops / median(rate() for _ in range(PRODUCTS_PER_RATE))


def endless_batches(domain: CLExperience) -> Iterator[tuple[Tensor, Tensor]]:
    """Mini-batches in a random order, again and again.

    :param domain: a domain of tensors.
    """
    source = tensor_source(domain.dataset)
    assert source is not None
    order = torch.randperm(len(source.indices))
    for positions in cycle(order.split(BATCH)):
        yield source.domain.batch(source.indices[positions])


def by_domain(scale: Scale) -> dict[str, Any]:
    """UDIL's step in several domains, each against the bare loop of the first of them,
    which stays the same: what is left is the growth with t.

    :param scale: how much to measure.
    """
    first = scale.domains[0]
    earlier, domain = strategy_at_domain("UDIL", first, scale.steps, root=scale.root)
    reference = bare_step(earlier.model, earlier.replay.memory, domain, 128)
    times, relative = {}, {}
    for t in scale.domains:
        laps = LapsPlugin({"reference": reference})
        strategy, domain = strategy_at_domain(
            "UDIL", t, scale.steps, root=scale.root, plugins=[laps], memory_batch=128
        )
        laps.restart()
        strategy.train(domain)
        times[str(t)] = 1e3 * median(laps.steps)
        relative[str(t)] = median_ratio(laps.steps, laps.rival_times["reference"])
    last = relative[str(scale.domains[-1])]
    return {"ms": times, "growth": last / relative[str(first)] - 1}


def baseline_steps(scale: Scale) -> dict[str, dict[str, float]]:
    """The step of every other method, and what it does once a domain.

    :param scale: how much to measure.
    """
    results = {}
    for name in STRATEGIES:
        if name in ("UDIL", "Joint"):
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
    return results


__all__ = ["baseline_steps", "by_domain", "udil_step"]
