"""DER++: two draws, the logits of the time of insertion, and the objective."""

import copy
from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor
from torch.nn import functional as F

from udil_avalanche.plugins import DERPlugin


class CheckObjective(SupervisedPlugin):
    """Compares the gradient of every iteration with the hand-assembled objective."""

    def __init__(self, der: DERPlugin) -> None:
        super().__init__()
        self.der = der
        self.draws: list[Tensor] = []
        self.checked = 0
        draw = der.memory.sample

        def sample(size: int) -> Tensor:
            self.draws.append(draw(size))
            return self.draws[-1]

        der.memory.sample = sample  # type: ignore[method-assign]

    def before_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
        self.draws.clear()
        self.current = strategy.mb_x, strategy.mb_y

    def after_backward(self, strategy: Any, **kwargs: Any) -> None:
        x, y = self.current
        assert torch.equal(strategy.mb_x, x), "the mini-batch is the current one again"
        assert len(strategy.mb_output) == len(x)
        twin = copy.deepcopy(strategy.model)
        twin.zero_grad()
        loss = F.cross_entropy(twin(x), y)
        if self.draws:
            first, second = self.draws
            assert len(first) == len(second) == 9
            assert not torch.equal(first, second)
            inputs, labels, _, logits = self.der.memory.fields
            distance = (twin(inputs[first]) - logits[first]) ** 2
            loss = loss + 0.7 * distance.mean()
            loss = loss + 0.3 * F.cross_entropy(twin(inputs[second]), labels[second])
            self.checked += 1
        loss.backward()
        assert strategy.loss.item() == pytest.approx(loss.item(), rel=1e-4)
        for mine, expected in zip(
            strategy.model.parameters(), twin.parameters(), strict=True
        ):
            torch.testing.assert_close(mine.grad, expected.grad, rtol=1e-4, atol=1e-6)


def test_every_step_follows_the_objective(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    der = DERPlugin(mem_size=30, alpha=0.7, beta=0.3, batch_size_mem=9)
    check = CheckObjective(der)
    strategy = naive(make_model(), [der, check])
    strategy.train(make_scenario(domains=4).train_stream)
    assert check.checked == 3 * 4


def test_stored_logits_are_those_of_the_time_of_insertion(
    naive: Any, make_scenario: Any, make_batchnorm_model: Any
) -> None:
    """Each sample keeps the model's output after its own domain, however often the
    memory is thinned out."""
    model, der = make_batchnorm_model(), DERPlugin(mem_size=40)
    strategy = naive(model, [der])
    models = []
    for t, experience in enumerate(make_scenario(domains=4).train_stream, start=1):
        strategy.train(experience)
        assert model.training
        models.append(copy.deepcopy(model).eval())
        inputs, *_, logits = der.memory.fields
        assert len(logits) == 40 // t * t
        assert not logits.requires_grad
        for domain, then in enumerate(models):
            members = der.memory.domains == domain
            torch.testing.assert_close(logits[members], then(inputs[members]))
    now = models[-1](inputs)
    assert not torch.allclose(logits[:10], now[:10], atol=0.1), "the model has moved"


def test_weights_of_zero_are_plain_training(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    models = [make_model(), make_model()]
    off = DERPlugin(mem_size=30, alpha=0.0, beta=0.0, batch_size_mem=8)
    for model, plugins in zip(models, ([off], []), strict=True):
        strategy = naive(model, plugins)
        strategy.train(make_scenario().train_stream, shuffle=False)
    for a, b in zip(*(m.parameters() for m in models), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.0, 1.0)])
def test_either_term_forgets_less_than_plain_training(
    naive: Any, make_scenario: Any, make_model: Any, weights: tuple[float, float]
) -> None:
    scenario, losses = make_scenario(domains=4, size=160), {}
    alpha, beta = weights
    for mem_size in (60, 0):
        torch.manual_seed(2)
        model = make_model()
        der = DERPlugin(mem_size, alpha=alpha, beta=beta, batch_size_mem=16)
        naive(model, [der], train_epochs=3).train(scenario.train_stream)
        first = scenario.train_stream[0].dataset
        x = torch.stack([sample[0] for sample in first])
        y = torch.as_tensor(list(first.targets))
        losses[mem_size] = F.cross_entropy(model(x), y).item()
    assert losses[60] < 0.6 * losses[0]


def test_a_memory_smaller_than_its_batches_is_still_replayed(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    der = DERPlugin(mem_size=6, batch_size_mem=128)
    naive(make_model(), [der]).train(make_scenario().train_stream)
    assert der.terms["stored_logits"] > 0
    assert der.terms["stored_labels"] > 0
