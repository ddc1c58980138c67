"""What a model that lives on costs: predicting, starting, and keeping its versions."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.laps import by_turns, median_ratio, seconds
from bench.scale import Scale
from udil_avalanche.benchmarks.fetching.mnist_files import load_mnist
from udil_avalanche.learner.inputs import InputReader
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.predictions import predictions_file
from udil_avalanche.learner.predictor import BATCH_SIZE, Predictor
from udil_avalanche.learner.reading import new_domain, samples_of_arrays
from udil_avalanche.learner.training import learn_domain
from udil_avalanche.learner.version import Version
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.state.tree import split

CLASSES = [str(digit) for digit in range(10)]
PREDICTED = 10_000
"""Images to predict."""
STARTS = 5
"""Turns of the measurement that starts processes, at most."""


def predicting(scale: Scale) -> dict[str, float]:
    """Seconds to predict images of digits in a file and to write the predictions to
    another, and of a bare loop that reads the same file and keeps the classes and their
    probabilities in memory. The model is in memory already.

    :param scale: how much to measure.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = _small_model(Path(scratch, "model"), scale)
        images = _digits(scale, min(PREDICTED, scale.images))[0]
        file, output = Path(scratch, "x.npz"), Path(scratch, "out.csv")
        np.savez(file, x=images.numpy())
        predictor = Predictor.load(folder.path)

        def ours() -> None:
            with predictions_file(output, predictor.classes, False) as write:
                for batch in InputReader(predictor, _refuse).batches([file]):
                    write(batch.names, predictor.probabilities(batch.inputs))

        @torch.inference_mode()
        def bare() -> None:
            model = predictor.model.body
            with np.load(file) as stored:
                x = torch.from_numpy(stored["x"])
            for batch in torch.split(x, BATCH_SIZE):
                model(batch.float() / 255).softmax(dim=1).max(dim=1)

        times = by_turns(
            {"ours": partial(seconds, ours), "bare": partial(seconds, bare)},
            scale.repeats,
        )
    return {
        "s": median(times["ours"]),
        "bare loop s": median(times["bare"]),
        "to bare loop": median_ratio(times["ours"], times["bare"]),
        "images": len(images),
    }


def starting(scale: Scale) -> dict[str, float]:
    """Seconds from the command to the end of the first prediction, and how many more
    these are than a process that only imports torch takes; the same in seconds of the
    processor, which do not depend on what else the machine does.

    :param scale: how much to measure.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = _small_model(Path(scratch, "model"), scale)
        file = Path(scratch, "x.npy")
        np.save(file, _digits(scale, 1)[0].numpy())
        command = ["-m", "udil_avalanche", "predict", str(folder.path), str(file)]
        used: dict[str, list[float]] = {"predict": [], "torch": []}

        def start(name: str, *arguments: str) -> float:
            before = os.times()
            took = seconds(lambda: _python(*arguments))
            after = os.times()
            user = after.children_user - before.children_user
            used[name].append(user + after.children_system - before.children_system)
            return took

        times = by_turns(
            {
                "torch": lambda: start("torch", "-c", "import torch"),
                "predict": lambda: start("predict", *command),
            },
            min(STARTS, scale.repeats),
        )
    return {
        "s": median(times["predict"]),
        "import torch s": median(times["torch"]),
        "more s": _median_difference(times["predict"], times["torch"]),
        "more s of the processor": _median_difference(used["predict"], used["torch"]),
    }


def versions(scale: Scale) -> dict[str, float]:
    """The share of an update by UDIL that writing its version takes, and by how much
    the model's folder grows, compared with the tensors that the version before did not
    have.

    :param scale: how much to measure.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = ModelFolder(Path(scratch, "model"))
        first = _learned(None, _digits(scale, scale.images), "UDIL")
        folder.write(first)
        before = folder.size()
        images, labels = _digits(scale, scale.images)
        turned = images.rot90(dims=(1, 2)).contiguous()
        begin = time.perf_counter()
        second = _learned(first, (turned, labels), "UDIL")
        learning = time.perf_counter() - begin
        writing = seconds(lambda: folder.write(second))
        grown = folder.size() - before
    known = {_content(tensor) for tensor in _tensors(first)}
    new = {_content(tensor) for tensor in _tensors(second)} - known
    needed = sum(map(len, new))
    return {
        "s an update": learning + writing,
        "ms to write its version": 1000 * writing,
        "share of writing": writing / (learning + writing),
        "MB more": grown / 1e6,
        "MB of new tensors": needed / 1e6,
        "to new tensors": grown / needed,
    }


def _digits(scale: Scale, n: int) -> tuple[Tensor, Tensor]:
    """8-bit images of digits and their classes."""
    mnist = load_mnist(scale.root)
    return mnist.train_images[:n], mnist.train_labels[:n]


def _learned(
    before: Version | None, digits: tuple[Tensor, Tensor], strategy: str
) -> Version:
    images, labels = digits
    number = 1 if before is None else before.record.number + 1
    samples = samples_of_arrays(images, labels.tolist(), f"d{number}")
    domain = new_domain(samples, CLASSES, reserve=200)
    settings = resolve(strategy, "arrays")
    return learn_domain(before, domain, settings, CLASSES, number=number, reserve=200)


def _small_model(path: Path, scale: Scale) -> ModelFolder:
    """A perceptron for digits that has hardly learned: it predicts as fast."""
    folder = ModelFolder(path)
    folder.write(_learned(None, _digits(scale, 256), "Fine-tune"))
    folder.make_current(1)
    return folder


def _python(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


def _refuse(problem: str) -> None:
    raise ValueError(problem)


def _median_difference(minuends: list[float], subtrahends: list[float]) -> float:
    pairs = zip(minuends, subtrahends, strict=True)
    return median(a - b for a, b in pairs)


def _tensors(version: Version) -> Iterator[Tensor]:
    parts: dict[str, Any] = {"state": version.state, "generators": version.generators}
    yield from split(parts)[1].values()
    yield from version.weights.values()
    for reserve in version.reserves.values():
        yield from (reserve.inputs, reserve.labels)


def _content(tensor: Tensor) -> bytes:
    return tensor.detach().contiguous().numpy().tobytes()


__all__ = ["predicting", "starting", "versions"]
