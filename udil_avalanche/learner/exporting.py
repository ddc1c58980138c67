"""A version as one file that runs without this package: ONNX, or torch's own format.

What the network does to its inputs first (8-bit numbers to [0, 1], standardising,
normalising the channels, a frozen backbone) is a part of the graph. A file is kept only
if it was run and gave the predictions of the version. Does not load Avalanche.
"""

import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from udil_avalanche.errors import ModelError
from udil_avalanche.files import atomic_write, write_text
from udil_avalanche.learner.architecture import CENTRE, SCALE
from udil_avalanche.learner.export_target import card_of, check_target
from udil_avalanche.learner.graph_files import Graph, write_graph
from udil_avalanche.learner.graph_metadata import lineage, metadata
from udil_avalanche.learner.model_card import Check, model_card
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.predictor import Predictor
from udil_avalanche.learner.version import Reserve

RANDOM_INPUTS = 256
"""So many are compared if there is no reserve."""

RANDOM_IMAGES = 64
"""So many are compared if a frozen backbone is in the graph."""

TOLERANCE = 1e-3
"""The largest difference of a logit that rounding explains, relative to the largest
logit."""


@dataclass(frozen=True)
class Exported:
    """What was exported.

    :param file: the file.
    :param card: the model card beside it.
    :param version: the number of the version.
    :param check: how it was compared with the version.
    """

    file: Path
    card: Path
    version: int
    check: Check


def export(
    folder: ModelFolder, file: str | Path, number: int | None = None
) -> Exported:
    """Write a version to a file, run the file, and write a model card beside it.

    The file is compared with the version on all reserves; without any, on random
    inputs. With a frozen backbone it is compared on random images, and its classifier,
    exported alone, on the features in reserve. If a single prediction differs, no file
    is left.

    :param folder: the model.
    :param file: the file, ``.onnx`` or ``.pt2``. The card has the same name and the
        ending ``.md``.
    :param number: the version; the current one by default.
    :raises SettingsError: if the file cannot be written there.
    :raises ModelError: if a package is missing, the version cannot be exported, or the
        file does not give the same predictions.
    """
    file = Path(file)
    check_target(file)
    number = folder.current if number is None else number
    predictor = Predictor.load(folder.path, number)
    reserves = folder.reserves(number)
    versions = lineage(folder, number)
    card, format = card_of(file), file.suffix.lower()
    with atomic_write(file) as unfinished:
        inputs = _random_inputs(predictor, 2)
        entries = metadata(versions)
        graph = write_graph(predictor.whole, inputs, unfinished, format, entries)
        if predictor.backbone is None:
            check = _compared(predictor, graph, reserves, RANDOM_INPUTS)
        else:
            check = _compared(predictor, graph, {}, RANDOM_IMAGES)
            if reserves:
                of_classifier = _classifier_compared(predictor, format, reserves)
                check = replace(check, of_classifier=of_classifier)
        _require_same(check, file)
        write_text(card, model_card(folder.path.resolve().name, file, versions, check))
    return Exported(file, card, number, check)


def _require_same(check: Check, file: Path) -> None:
    for each in (check, check.of_classifier):
        if each is not None and (each.n_different or not each.is_close):
            raise ModelError(
                f"{file} was not written: exported, the model gave another class for "
                f"{each.n_different} of {each.n} inputs; the largest difference of a "
                f"logit is {each.largest_difference:.2g}"
            )


def _classifier_compared(
    predictor: Predictor, format: str, reserves: Mapping[str, Reserve]
) -> Check:
    """Export the classifier of a model with a frozen backbone alone, and run it on the
    features in reserve."""
    some = next(iter(reserves.values())).inputs[:1]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "classifier")
        graph = write_graph(predictor.model, some.repeat(2, 1), file, format, {})
        return _compared(predictor, graph, reserves, 0)


def _compared(
    predictor: Predictor,
    graph: Graph,
    reserves: Mapping[str, Reserve],
    n_random: int,
) -> Check:
    """Run a graph on all reserves, in batches of one and of many; without any, on
    random inputs."""
    largest, scale, n, n_different = 0.0, 1.0, 0, 0
    accuracies: dict[str, float] = {}
    if not reserves:
        labels = torch.zeros(n_random, dtype=torch.int64)
        reserves = {"": Reserve(_random_inputs(predictor, n_random), labels)}
    for name, reserve in reserves.items():
        parts = [reserve.inputs[:1], *predictor.batches(reserve.inputs[1:])]
        found = torch.cat([graph(part) for part in parts])
        expected = predictor.logits(predictor.inputs(reserve.inputs))
        largest = max(largest, (found - expected).abs().max().item())
        best = expected.max(dim=1)
        scale = max(scale, best.values.abs().max().item())
        classes = found.argmax(dim=1)
        n += len(reserve)
        n_different += int((classes != best.indices).sum())
        if name:
            right = (classes == reserve.labels).float().mean().item()
            accuracies[name] = 100 * right
    is_close = math.isfinite(largest) and largest <= TOLERANCE * scale
    return Check(n, n_different, largest, accuracies, is_close)


def _random_inputs(predictor: Predictor, n: int) -> Tensor:
    """Inputs of the model's type and shape, and of the scale of the first domain."""
    shape = (n, *predictor.record.input_shape)
    generator = torch.Generator().manual_seed(0)
    if predictor.record.input_type == "uint8":
        return torch.randint(256, shape, generator=generator, dtype=torch.uint8)
    values = torch.randn(shape, generator=generator)
    weights = predictor.model.body.state_dict()
    if CENTRE in weights:
        values = weights[CENTRE] + values * weights[SCALE]
    return values
