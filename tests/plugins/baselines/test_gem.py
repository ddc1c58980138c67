"""GEM's quadratic program, and its constraints in real steps."""

from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor, nn
from torch.nn import functional as F

from udil_avalanche.models.standardise import Standardise
from udil_avalanche.plugins import GEMPlugin
from udil_avalanche.plugins.baselines.gem import gem_weights
from udil_avalanche.plugins.baselines.memory_gradient import (
    FactoredGradients,
    FlatGradients,
    factored_gradients,
    flat_gradients,
)


def gem_projection(gradient: Tensor, references: Tensor, margin: float = 0.0) -> Tensor:
    past = FlatGradients(references, [gradient])
    weights = gem_weights(past.gram(), past.products({gradient: gradient}), margin)
    return gradient + past.combination(weights)[gradient]


def slow_projection(gradient: Tensor, references: Tensor, margin: float) -> Tensor:
    """Coordinate descent on the dual, in double precision."""
    g, G = gradient.double(), references.double()
    v = torch.full((len(G),), margin, dtype=torch.float64)
    for _ in range(500):
        for i, row in enumerate(G):
            if row @ row > 0:
                v[i] = max(margin, v[i] - row @ (g + v @ G) / (row @ row))
    return (g + v @ G).float()


@pytest.mark.parametrize("margin", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_the_quadratic_programs_solution(seed: int, margin: float) -> None:
    torch.manual_seed(seed)
    gradient, references = torch.randn(12), torch.randn(5, 12)
    assert (references @ gradient < 0).any()
    projected = gem_projection(gradient, references, margin)
    expected = slow_projection(gradient, references, margin)
    torch.testing.assert_close(projected, expected, rtol=1e-4, atol=1e-4)


def test_constraints_of_very_different_lengths() -> None:
    references = torch.randn(4, 30) * torch.tensor([[1e-4], [1.0], [1e4], [1e-2]])
    gradient = torch.randn(30) - 3 * F.normalize(references).sum(dim=0)
    assert (references @ gradient < 0).all()
    projected = gem_projection(gradient, references)
    assert F.cosine_similarity(projected[None], references).min() > -1e-4


def test_equal_parallel_and_vanishing_gradients() -> None:
    row = torch.randn(10)
    references = torch.stack([row, row, 2 * row, torch.zeros(10)])
    gradient = torch.randn(10) - row
    projected = gem_projection(gradient, references)
    expected = gradient - (gradient @ row) / (row @ row) * row
    torch.testing.assert_close(projected, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("length", [0.0, 1e-30, 1e-24, 1e-16])
def test_a_domain_whose_gradient_is_nil_does_not_constrain(length: float) -> None:
    """The square of its length underflows, its products with the others do not."""
    row = torch.randn(10)
    nil = length * F.normalize(row + torch.randn(10), dim=0)
    gradient = torch.randn(10) - row
    projected = gem_projection(gradient, torch.stack([nil, row]), margin=0.5)
    expected = slow_projection(gradient, row[None], margin=0.5)
    torch.testing.assert_close(projected, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("noise", [1e-4, 1e-3])
def test_almost_parallel_gradients_of_a_large_model(noise: float) -> None:
    """Rounding gives their Gram matrix negative eigenvalues."""
    row = torch.randn(300_000)
    references = row + noise * torch.randn(10, len(row))
    gradient = torch.randn(len(row)) - 0.5 * row
    projected = gem_projection(gradient, references)
    assert F.cosine_similarity(projected[None], references).min() > -1e-4
    expected = gradient - (gradient @ row) / (row @ row) * row
    assert F.cosine_similarity(projected, expected, dim=0) > 0.999


class RawGradient(SupervisedPlugin):
    """Keeps the gradient from the backward pass; comes before GEM."""

    def after_backward(self, strategy: Any, **kwargs: Any) -> None:
        self.value = flat_gradient(strategy.model)


class CheckConstraints(SupervisedPlugin):
    """Compares every step with the gradients of all past domains; comes after GEM."""

    def __init__(self, gem: GEMPlugin, raw: RawGradient) -> None:
        super().__init__()
        self.gem, self.raw = gem, raw
        self.projected, self.unchanged = 0, 0

    def after_backward(self, strategy: Any, **kwargs: Any) -> None:
        assert len(strategy.mb_y) == 16, "the memory is no part of the mini-batch"
        memory, step = self.gem.memory, flat_gradient(strategy.model)
        references = []
        for domain in range(memory.n_domains):
            members = memory.domains == domain
            logits = strategy.model(memory.fields[0][members])
            loss = F.cross_entropy(logits, memory.labels[members])
            parts = torch.autograd.grad(loss, list(strategy.model.parameters()))
            references.append(torch.cat([part.flatten() for part in parts]))
        raised = [(reference @ self.raw.value).item() < 0 for reference in references]
        if any(raised):
            self.projected += 1
            assert not torch.equal(step, self.raw.value)
        else:
            self.unchanged += 1
            assert torch.equal(step, self.raw.value)
        for reference in references:
            cosine = reference @ step / (reference.norm() * step.norm())
            assert cosine > -1e-5, "the step raises a past domain's loss"
        if references:
            share = sum(raised) / len(raised)
            assert self.gem.terms["violated"].item() == pytest.approx(share)


def flat_gradient(model: nn.Module) -> Tensor:
    return torch.cat([p.grad.flatten() for p in model.parameters()])


@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_no_step_raises_any_past_loss_to_first_order(
    naive: Any, make_scenario: Any, make_model: Any, margin: float
) -> None:
    gem, raw = GEMPlugin(mem_size=40, margin=margin), RawGradient()
    check = CheckConstraints(gem, raw)
    strategy = naive(make_model(), [raw, gem, check])
    strategy.train(make_scenario(domains=5, size=160).train_stream)
    assert check.projected > 20
    assert check.unchanged >= 10, "at least all of the first domain"


def test_gem_forgets_less_than_plain_training(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    scenario, losses = make_scenario(domains=4, size=160), {}
    for mem_size in (40, 0):
        torch.manual_seed(2)
        model = make_model()
        gem = GEMPlugin(mem_size)
        naive(model, [gem], train_epochs=3).train(scenario.train_stream)
        first = scenario.train_stream[0].dataset
        x = torch.stack([sample[0] for sample in first])
        y = torch.as_tensor(list(first.targets))
        losses[mem_size] = F.cross_entropy(model(x), y).item()
    assert losses[40] < 0.7 * losses[0]


def test_a_memory_of_zero_is_plain_training(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    models = [make_model(), make_model()]
    for model, plugins in zip(models, ([GEMPlugin(0)], []), strict=True):
        torch.manual_seed(3)
        naive(model, plugins).train(make_scenario().train_stream)
    for a, b in zip(*(m.parameters() for m in models), strict=True):
        assert torch.equal(a, b)


def test_parameters_out_of_reach_do_no_harm(naive: Any, make_scenario: Any) -> None:
    class Partly(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.unused = nn.Linear(2, 2)
            self.frozen = nn.Linear(6, 6).requires_grad_(False)
            self.out = nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.out(self.frozen(x))

    model, gem = Partly(), GEMPlugin(mem_size=30)
    naive(model, [gem]).train(make_scenario().train_stream)
    assert all(p.isfinite().all() for p in model.parameters())
    assert model.unused.weight.grad is None


def test_a_negative_margin_is_refused() -> None:
    with pytest.raises(ValueError, match="margin must not be negative"):
        GEMPlugin(margin=-0.1)


class ComparePasses(SupervisedPlugin):
    """Compares one pass over the whole memory with a pass for each domain."""

    def __init__(self, gem: GEMPlugin) -> None:
        super().__init__()
        self.gem, self.compared, self.refused = gem, 0, 0

    def after_backward(self, strategy: Any, **kwargs: Any) -> None:
        memory = self.gem.memory
        if len(memory) == 0:
            return
        parameters = list(strategy.model.parameters())
        factored = factored_gradients(strategy, memory, parameters)
        if factored is None:
            self.refused += 1
            return
        assert isinstance(factored, FactoredGradients)
        room = torch.empty(memory.n_domains, sum(p.numel() for p in parameters))
        plain = flat_gradients(strategy, memory, parameters, room)
        direction = {p: torch.randn_like(p) for p in parameters}
        weights = torch.randn(memory.n_domains)
        combined, expected = (each.combination(weights) for each in (factored, plain))
        assert combined.keys() == expected.keys()
        for one, other in (
            (factored.products(direction), plain.products(direction)),
            (factored.gram(), plain.gram()),
            *((combined[p], expected[p]) for p in parameters),
        ):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
        self.compared += 1


@pytest.mark.parametrize("bias", [True, False])
def test_one_pass_over_the_memory_gives_the_gradients_of_all_domains(
    naive: Any, make_scenario: Any, bias: bool
) -> None:
    model = nn.Sequential(
        Standardise.from_samples(torch.randn(20, 6)),
        nn.Linear(6, 9, bias=bias),
        nn.ReLU(inplace=True),
        nn.Linear(9, 3),
    )
    gem = GEMPlugin(mem_size=20)
    compare = ComparePasses(gem)
    naive(model, [gem, compare]).train(make_scenario(domains=4).train_stream)
    assert compare.compared == 3 * 4 and compare.refused == 0


def test_domains_that_would_mix_get_a_pass_each(
    naive: Any, make_scenario: Any, make_batchnorm_model: Any
) -> None:
    gem = GEMPlugin(mem_size=20)
    compare = ComparePasses(gem)
    model = make_batchnorm_model()
    naive(model, [gem, compare]).train(make_scenario(domains=3).train_stream)
    assert compare.refused == 2 * 4 and compare.compared == 0
