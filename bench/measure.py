"""All measurements."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import torch

from bench.data_path import loading, training
from bench.deployment import predicting, starting, versions
from bench.evaluation import evaluation, shares
from bench.features import feature_speed
from bench.image_loader import image_loading
from bench.limit import MatmulRate
from bench.long_streams import long_stream
from bench.peak_memory import peak_memory
from bench.saving import saving
from bench.scale import Scale
from bench.steps import (
    BATCH,
    MEMORY_BATCHES,
    baseline_steps,
    by_domain,
    udil_step,
)


def measure(scale: Scale, only: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure everything that ``make bench`` shows, one part after the other.

    :param scale: how much to measure.
    :param only: measure only the parts with this in their names.
    :return: the name and the results of each part.
    """
    torch.manual_seed(0)
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "machine": lambda: {
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "GFLOP/s": max(MatmulRate(BATCH + 128)() for _ in range(200)) / 1e9,
        },
        "UDIL, a step": lambda: {
            f"{BATCH} + {memory}": udil_step(memory, scale.t, scale)
            for memory in MEMORY_BATCHES
        },
        "UDIL, a step by domain": lambda: by_domain(scale),
        "every method, a step": lambda: baseline_steps(scale),
        "images a second, data alone": lambda: loading(scale),
        "images a second, training": lambda: training(scale),
        "images a second, image files": lambda: image_loading(
            frames=scale.frames, repeats=scale.repeats
        ),
        "features of image files": lambda: feature_speed(
            scale.root,
            pictures=scale.pictures,
            drawn=8 * scale.frames,
            repeats=min(scale.repeats, 3),
        ),
        "evaluation": lambda: evaluation(scale),
        "shares of a run": lambda: {
            name: shares(name, scale) for name in ("UDIL", "Fine-tune")
        },
        "saving UDIL's state": lambda: saving(scale),
        "predicting images in a file": lambda: predicting(scale),
        "to the first prediction": lambda: starting(scale),
        "a further version of a model": lambda: versions(scale),
        "peak memory by domain, MB": lambda: peak_memory(scale),
        "long streams": lambda: {
            f"{strategy}, {domains:,} domains": long_stream(strategy, domains)
            for strategy, domains in scale.streams
        },
    }
    for name, part in parts.items():
        if only in name:
            yield name, part()


__all__ = ["measure"]
