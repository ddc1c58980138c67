"""The Fisher information against one gradient at a time."""

import copy

import pytest
import torch
from torch import Tensor, nn

from udil_avalanche.models.mlp import EncoderPredictor
from udil_avalanche.models.standardise import Standardise
from udil_avalanche.plugins.baselines import fisher as fisher_module
from udil_avalanche.plugins.baselines.fisher import diagonal_fisher


def by_the_definition(model: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """Each sample, each class, each parameter."""
    model = copy.deepcopy(model).eval()
    fisher = {
        name: torch.zeros_like(p)
        for name, p in model.named_parameters()
        if p.requires_grad
    }
    for sample in x:
        for y in range(model(sample[None]).shape[1]):
            model.zero_grad()
            log_p = model(sample[None]).log_softmax(dim=1)[0, y]
            log_p.backward()
            for name, p in model.named_parameters():
                if p.grad is not None:
                    fisher[name] += log_p.detach().exp() * p.grad**2 / len(x)
    return fisher


class UsesALayerTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.out = nn.Linear(4, 3, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.layer(self.layer(x).tanh()).tanh())


class SharesAWeight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.out = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.second(self.first(x).tanh()).tanh())


class WorksOnSequences(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.each, self.out = nn.Linear(2, 5), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.each(x.view(len(x), 2, 2)).tanh().mean(dim=1))


def multi_layer_perceptron() -> nn.Module:
    encoder = nn.Sequential(nn.Linear(4, 7), nn.ReLU(inplace=True), nn.Linear(7, 5))
    return EncoderPredictor(encoder, nn.Sequential(nn.Tanh(), nn.Linear(5, 3)))


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 2, 2)),
        nn.Conv2d(1, 3, 2, padding=1),
        nn.BatchNorm2d(3),
        nn.ReLU(inplace=True),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.Linear(27, 3),
    )


def partly_frozen() -> nn.Module:
    model = multi_layer_perceptron()
    model.encoder.requires_grad_(False)
    model.encoder[2].bias.requires_grad_(True)
    return model


def standardised_inputs() -> nn.Module:
    layer = Standardise.from_samples(torch.randn(20, 4))
    return nn.Sequential(layer, multi_layer_perceptron())


def standardised_convolutions() -> nn.Module:
    layer = Standardise.from_samples(torch.randn(20, 4))
    return nn.Sequential(layer, convolutions())


MODELS = [
    multi_layer_perceptron,
    convolutions,
    partly_frozen,
    UsesALayerTwice,
    SharesAWeight,
    WorksOnSequences,
    standardised_inputs,
    standardised_convolutions,
]


@pytest.mark.parametrize("make_model", MODELS)
@pytest.mark.parametrize("batch_size", [1, 4, 9])
def test_fisher_is_the_definition_whatever_the_batches(
    make_model: type[nn.Module], batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fisher_module, "GRADIENT_VALUES", 100)
    torch.manual_seed(2)
    model, x = make_model(), 2 * torch.randn(9, 4)
    model(x)
    expected = by_the_definition(model, x)
    got = diagonal_fisher(model, x.split(batch_size))
    assert got.keys() == expected.keys()
    for name, values in expected.items():
        assert values.sum() > 0
        torch.testing.assert_close(got[name], values, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_as_it_was(training: bool) -> None:
    model, x = convolutions(), torch.randn(9, 4)
    model.train(training)
    model[2].eval()
    modes = [module.training for module in model.modules()]
    before = copy.deepcopy(model.state_dict())
    diagonal_fisher(model, [x])
    assert [module.training for module in model.modules()] == modes
    assert all(p.grad is None for p in model.parameters())
    assert not any(module._forward_hooks for module in model.modules())
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), f"{name} has changed"


def test_a_class_that_is_certain_still_needs_the_weights_that_make_it_so() -> None:
    """The true label alone has a gradient of 1 - p, whose square all but vanishes."""
    model = nn.Linear(1, 2, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[3.0], [-3.0]]))
    p = torch.sigmoid(torch.tensor(6.0))
    got = diagonal_fisher(model, [torch.ones(1, 1)])
    torch.testing.assert_close(got["weight"], (p * (1 - p)).expand(2, 1))
    assert got["weight"][0] > 100 * (1 - p) ** 2


def test_convolutions_beside_linear_layers_keep_no_graph() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3)
    )
    fisher = diagonal_fisher(model, [torch.randn(5, 1, 4, 4)])
    assert fisher.keys() == dict(model.named_parameters()).keys()
    assert not any(value.requires_grad for value in fisher.values())
