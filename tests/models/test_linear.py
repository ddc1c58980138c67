"""The linear layer by oneDNN is torch's, up to rounding."""

import copy
from collections.abc import Iterator
from unittest import mock

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from udil_avalanche.models import linear
from udil_avalanche.models.linear import Linear, product
from udil_avalanche.models.mlp import mlp

CAN_USE_ONEDNN = torch.backends.mkldnn.is_available()


@pytest.fixture(params=[True, False], ids=["onednn", "mkl"], autouse=True)
def by_onednn(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Both ways on every machine, whichever would be faster on it."""
    if request.param and not CAN_USE_ONEDNN:
        pytest.skip("torch is built without oneDNN")
    with mock.patch.object(linear, "onednn_is_faster", lambda: request.param):
        yield request.param


def plain(layer: Linear) -> nn.Linear:
    """torch's own layer with the same parameters."""
    copied = nn.Linear(
        layer.in_features, layer.out_features, bias=layer.bias is not None
    )
    copied.load_state_dict(layer.state_dict())
    return copied


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 7, 256])
def test_outputs_and_gradients_are_torchs(rows: int, bias: bool) -> None:
    torch.manual_seed(0)
    layer = Linear(30, 50, bias=bias)
    expected_layer = plain(layer)
    x = torch.randn(rows, 30, requires_grad=True)
    expected_x = x.detach().clone().requires_grad_()
    weights = torch.randn(rows, 50)

    outputs, expected = layer(x), expected_layer(expected_x)
    (outputs * weights).sum().backward()
    (expected * weights).sum().backward()

    torch.testing.assert_close(outputs, expected)
    torch.testing.assert_close(x.grad, expected_x.grad)
    for one, other in zip(layer.parameters(), expected_layer.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_only_what_is_asked_for_gets_a_gradient() -> None:
    layer = Linear(4, 3)
    layer.weight.requires_grad_(False)
    x = torch.randn(5, 4)
    layer(x).sum().backward()
    assert layer.weight.grad is None
    torch.testing.assert_close(layer.bias.grad, torch.full((3,), 5.0))


@pytest.mark.parametrize(
    "x",
    [
        torch.randn(6, 5, 4),
        torch.randn(4),
        torch.randn(0, 4),
        torch.randn(4, 6).t(),
        torch.randn(12, 8)[::2, ::2],
    ],
    ids=["three dimensions", "one", "no rows", "transposed", "strided"],
)
def test_inputs_of_other_shapes_and_strides(x: Tensor) -> None:
    layer = Linear(4, 3)
    torch.testing.assert_close(layer(x), plain(layer)(x))


def test_64_bits_and_mixed_precision() -> None:
    layer = Linear(4, 3)
    x = torch.randn(5, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    assert layer.double()(x.double()).dtype == torch.float64


def test_a_gradient_of_a_gradient() -> None:
    layer = Linear(4, 3)
    x = torch.randn(5, 4, requires_grad=True)

    def penalty(of: nn.Linear) -> Tensor:
        (slope,) = torch.autograd.grad(of(x).square().sum(), x, create_graph=True)
        (by_weight,) = torch.autograd.grad(slope.square().sum(), of.weight)
        return by_weight

    torch.testing.assert_close(penalty(layer), penalty(plain(layer)))


def test_torch_func_differentiates_sample_by_sample() -> None:
    layer = Linear(4, 3)
    x = torch.randn(5, 4)

    def loss(parameters: dict[str, Tensor], sample: Tensor) -> Tensor:
        return functional_call(layer, parameters, (sample[None],)).square().sum()

    parameters = {name: each.detach() for name, each in layer.named_parameters()}
    slopes = vmap(grad(loss), in_dims=(None, 0))(parameters, x)
    layer(x).square().sum().backward()
    torch.testing.assert_close(slopes["weight"].sum(dim=0), layer.weight.grad)


def test_an_exported_graph_holds_plain_layers() -> None:
    model = mlp(input_size=4, n_classes=3, hidden=8).eval()
    program = torch.export.export(model, (torch.randn(5, 4),))
    assert "mkldnn" not in str(program.graph)
    x = torch.randn(5, 4)
    torch.testing.assert_close(program.module()(x), model(x))


def test_copies_and_state_dicts_are_those_of_linear_layers() -> None:
    layer = Linear(4, 3)
    assert isinstance(layer, nn.Linear)
    assert set(layer.state_dict()) == {"weight", "bias"}
    x = torch.randn(5, 4)
    assert torch.equal(copy.deepcopy(layer)(x), layer(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_product(dtype: torch.dtype) -> None:
    a, b = torch.randn(7, 5).to(dtype), torch.randn(6, 5).to(dtype).requires_grad_()
    given = product(a, b)
    assert not given.requires_grad
    torch.testing.assert_close(given, (a @ b.t()).detach())
    strided = product(torch.randn(5, 7).to(dtype).t(), b.detach())
    assert strided.shape == (7, 6)


def test_onednn_is_used_where_it_should_be(by_onednn: bool) -> None:
    with torch.profiler.profile() as profile:
        Linear(4, 3)(torch.randn(5, 4)).sum().backward()
    names = [event.name for event in profile.events() or []]
    assert names.count("mkldnn::_linear_pointwise") == (2 if by_onednn else 0)
