"""A version as one file that runs without this package: ONNX, or torch's own format.

What the network does to its inputs first (8-bit numbers to [0, 1], standardising,
normalising the channels) is a part of the graph. A file is kept only if it was run and
gave the predictions of the version. Does not load Avalanche.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from udil_avalanche.errors import ModelError
from udil_avalanche.files import atomic_write, write_text
from udil_avalanche.learner.export_target import card_of, check_target
from udil_avalanche.learner.graph_metadata import lineage, metadata
from udil_avalanche.learner.model_card import Check, model_card
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.predictor import Predictor
from udil_avalanche.learner.version import Reserve

INPUT, OUTPUTS = "x", ("logits", "probabilities")
"""The names of the graph's input and outputs."""

OPSET = 18
"""The version of ONNX's operators; an old one, which many runtimes know."""

RANDOM_INPUTS = 256
"""So many are compared if there is no reserve."""

Graph = Callable[[Tensor], Tensor]
"""Runs a file that was exported: the logits of inputs."""


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


class Deployable(nn.Module):
    """A model that also gives probabilities.

    :param model: takes inputs as they are stored, and returns class logits.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The logits and the probabilities of all classes."""
        logits: Tensor = self.model(x)
        return logits, logits.softmax(dim=1)


def export(
    folder: ModelFolder, file: str | Path, number: int | None = None
) -> Exported:
    """Write a version to a file, run the file, and write a model card beside it.

    The file is compared with the version on all reserves; without any, on random
    inputs. If a single prediction differs, no file is left.

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
    entries = metadata(versions)
    card = card_of(file)
    with atomic_write(file) as unfinished:
        if file.suffix.lower() == ".onnx":
            _write_onnx(predictor, unfinished, entries)
            graph = _onnx_graph(unfinished)
        else:
            _write_pt2(predictor, unfinished, entries)
            graph = _pt2_graph(unfinished)
        check = _compared(predictor, graph, reserves)
        if check.n_different or not math.isfinite(check.largest_difference):
            raise ModelError(
                f"{file} was not written: exported, the model gave another class for "
                f"{check.n_different} of {check.n} inputs; the largest difference of a "
                f"logit is {check.largest_difference:.2g}"
            )
        write_text(card, model_card(folder.path.resolve().name, file, versions, check))
    return Exported(file, card, number, check)


def _program(predictor: Predictor) -> torch.export.ExportedProgram:
    """The graph, for any number of inputs."""
    inputs = _random_inputs(predictor, 2)
    batch = torch.export.Dim("batch")
    model = Deployable(predictor.model).eval()
    with _quiet():
        program: torch.export.ExportedProgram = torch.export.export(
            model, (inputs,), dynamic_shapes={INPUT: {0: batch}}
        )
        program = program.run_decompositions()
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                # It would tell the paths of this machine to whoever gets the file.
                node.meta.pop("stack_trace", None)
    return program


def _write_onnx(predictor: Predictor, file: Path, entries: dict[str, str]) -> None:
    import onnx

    with _failing("ONNX"), _quiet():
        exported: Any = torch.onnx.export(
            _program(predictor),
            input_names=[INPUT],
            output_names=list(OUTPUTS),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
        model = exported.model_proto
    _tidy(model.graph)
    onnx.helper.set_model_props(model, entries)
    file.write_bytes(model.SerializeToString())


def _tidy(graph: Any) -> None:
    """Remove the exporter's notes, and give the number of inputs its name."""
    values = [*graph.input, *graph.output, *graph.value_info]
    for each in (graph, *graph.node, *values):
        del each.metadata_props[:]
    batch = graph.input[0].type.tensor_type.shape.dim[0].dim_param
    for value in values:
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param == batch:
                dimension.dim_param = "batch"


def _onnx_graph(file: Path) -> Graph:
    import onnxruntime

    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])

    def run(x: Tensor) -> Tensor:
        [logits] = session.run(["logits"], {INPUT: x.numpy()})
        return torch.from_numpy(logits)

    return run


def _write_pt2(predictor: Predictor, file: Path, entries: dict[str, str]) -> None:
    with _failing("torch.export"), _quiet():
        program = _program(predictor)
        with file.open("wb") as opened:
            torch.export.save(program, opened, extra_files=entries)


def _pt2_graph(file: Path) -> Graph:
    with _quiet(), file.open("rb") as opened:
        module = torch.export.load(opened).module()

    @torch.inference_mode()
    def run(x: Tensor) -> Tensor:
        logits: Tensor = module(x)[0]
        return logits

    return run


def _compared(
    predictor: Predictor, graph: Graph, reserves: dict[str, Reserve]
) -> Check:
    """Run a graph on all reserves, in batches of one and of many."""
    largest, n, n_different = 0.0, 0, 0
    accuracies: dict[str, float] = {}
    random = Reserve(
        _random_inputs(predictor, RANDOM_INPUTS),
        torch.zeros(RANDOM_INPUTS, dtype=torch.int64),
    )
    for name, reserve in (reserves or {"": random}).items():
        parts = [reserve.inputs[:1], *predictor.batches(reserve.inputs[1:])]
        found = torch.cat([graph(part) for part in parts])
        expected = predictor.logits(reserve.inputs)
        largest = max(largest, (found - expected).abs().max().item())
        classes = found.argmax(dim=1)
        n += len(reserve)
        n_different += int((classes != expected.argmax(dim=1)).sum())
        if name:
            right = (classes == reserve.labels).float().mean().item()
            accuracies[name] = 100 * right
    return Check(n, n_different, largest, accuracies)


def _random_inputs(predictor: Predictor, n: int) -> Tensor:
    """Inputs of the model's type and shape, and of the scale of the first domain."""
    shape = (n, *predictor.record.input_shape)
    generator = torch.Generator().manual_seed(0)
    if predictor.record.input_type == "uint8":
        return torch.randint(256, shape, generator=generator, dtype=torch.uint8)
    values = torch.randn(shape, generator=generator)
    weights = predictor.model.body.state_dict()
    if "encoder.input.scale" in weights:
        values = (
            weights["encoder.input.centre"] + values * weights["encoder.input.scale"]
        )
    return values


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of exporters, which are about their own code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _failing(how: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # Exporters raise errors of any kind.
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"the network cannot be exported by {how}: {reason}"
        ) from error
