"""A network as a file that runs without this package: ONNX, or torch's own format.
Does not load Avalanche."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from udil_avalanche.errors import ModelError

INPUT, OUTPUTS = "x", ("logits", "probabilities")
"""The names of the graph's input and outputs."""

ONNX, PT2 = ".onnx", ".pt2"
"""The formats, by the endings of their files."""

OPSET = 18
"""The version of ONNX's operators; an old one, which many runtimes know."""

Graph = Callable[[Tensor], Tensor]
"""Runs a file that was exported: the logits of inputs."""


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


def write_graph(
    model: nn.Module,
    inputs: Tensor,
    file: Path,
    format: str,
    entries: Mapping[str, str],
) -> Graph:
    """Write a network to a file, and open the file.

    :param model: takes inputs, and returns class logits.
    :param inputs: some inputs; the file takes any number of such.
    :param file: the file; its name may have any ending.
    :param format: :data:`ONNX` or :data:`PT2`.
    :param entries: the file's metadata.
    :return: runs the file.
    :raises ModelError: if the network cannot be exported.
    """
    if format == ONNX:
        _write_onnx(model, inputs, file, entries)
        return _onnx_graph(file)
    _write_pt2(model, inputs, file, entries)
    return _pt2_graph(file)


def _program(model: nn.Module, inputs: Tensor) -> torch.export.ExportedProgram:
    """The graph, for any number of inputs."""
    batch = torch.export.Dim("batch")
    with _quiet():
        program: torch.export.ExportedProgram = torch.export.export(
            Deployable(model).eval(), (inputs,), dynamic_shapes={INPUT: {0: batch}}
        )
        program = program.run_decompositions()
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                # It would tell the paths of this machine to whoever gets the file.
                node.meta.pop("stack_trace", None)
    return program


def _write_onnx(
    model: nn.Module, inputs: Tensor, file: Path, entries: Mapping[str, str]
) -> None:
    import onnx

    with _failing("ONNX"), _quiet():
        exported: Any = torch.onnx.export(
            _program(model, inputs),
            input_names=[INPUT],
            output_names=list(OUTPUTS),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
        proto = exported.model_proto
    _tidy(proto.graph)
    onnx.helper.set_model_props(proto, dict(entries))
    file.write_bytes(proto.SerializeToString())


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


def _write_pt2(
    model: nn.Module, inputs: Tensor, file: Path, entries: Mapping[str, str]
) -> None:
    with _failing("torch.export"), _quiet():
        program = _program(model, inputs)
        with file.open("wb") as opened:
            torch.export.save(program, opened, extra_files=dict(entries))


def _pt2_graph(file: Path) -> Graph:
    with _quiet(), file.open("rb") as opened:
        module = torch.export.load(opened).module()

    @torch.inference_mode()
    def run(x: Tensor) -> Tensor:
        logits: Tensor = module(x)[0]
        return logits

    return run


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
