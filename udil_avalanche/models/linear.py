"""A linear layer that multiplies matrices by oneDNN where that is the faster library.

torch multiplies float32 matrices on a CPU by MKL, which uses AVX-512 only on Intel's
processors. On AMD's, oneDNN, which torch ships as well, is about twice as fast.
"""

import platform
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

BLOCK = 64
"""oneDNN compiles code for every shape that it meets and keeps it. In a stream of
hundreds of domains the memory has hundreds of sizes, so rows are multiplied in whole
blocks."""


class Linear(nn.Linear):
    """``nn.Linear`` with the same parameters and, up to rounding, the same outputs and
    gradients::

        layer = Linear(784, 800)

    What is exported, compiled or transformed by ``torch.func`` is a plain
    ``nn.Linear``, and so are other types of numbers and other devices.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The outputs for ``input``."""
        if not _multiplied_by_onednn(input, self.weight):
            return super().forward(input)
        outputs: Tensor = _OneDnnLinear.apply(input, self.weight, self.bias)
        return outputs


class _OneDnnLinear(torch.autograd.Function):
    """x W^T + b and its gradient, each product by oneDNN."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        blocks = _whole_blocks(x)
        ctx.save_for_backward(blocks, weight)
        return _onednn_product(blocks, weight, bias)[: len(x)]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        rows = len(gradients[0])
        by_output = _whole_blocks(gradients[0])
        of_x, of_weight, of_bias = ctx.needs_input_grad
        # Only plain products can be differentiated once more.
        times = torch.matmul if torch.is_grad_enabled() else _onednn_matmul
        return (
            times(by_output, weight)[:rows] if of_x else None,
            times(by_output.t(), x) if of_weight else None,
            by_output.sum(dim=0) if of_bias else None,
        )


def product(a: Tensor, b: Tensor) -> Tensor:
    """a b^T, by the faster library. The product has no gradient.

    :param a: a matrix.
    :param b: a matrix with as many columns.
    """
    with torch.no_grad():
        by_onednn = _multiplied_by_onednn(a, b)
        return _onednn_product(a, b) if by_onednn else a @ b.t()


def _whole_blocks(x: Tensor) -> Tensor:
    """With rows of zeros at the end, up to a multiple of :data:`BLOCK`."""
    missing = -len(x) % BLOCK
    return functional.pad(x, (0, 0, 0, missing)) if missing else x


def _onednn_product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a b^T + bias. The operation is the one that compiled models use."""
    given: Tensor = torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")
    return given


def _onednn_matmul(a: Tensor, b: Tensor) -> Tensor:
    return _onednn_product(a, b.t())


def _multiplied_by_onednn(x: Tensor, weight: Tensor) -> bool:
    return bool(
        onednn_is_faster()
        and x.dtype == weight.dtype == torch.float32
        and x.device.type == weight.device.type == "cpu"
        and x.dim() == 2
        and x.numel() > 0
        and torch.backends.mkldnn.enabled
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and torch._C._get_tracing_state() is None
        and not torch._C._are_functorch_transforms_active()
    )


@cache
def onednn_is_faster() -> bool:
    """Whether this processor has AVX-512 and MKL does not use it."""
    return (
        torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and "AuthenticAMD" in _processor()
    )


def _processor() -> str:
    """What the system says about the processor: its maker, among other things."""
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()


__all__ = ["Linear", "onednn_is_faster", "product"]
