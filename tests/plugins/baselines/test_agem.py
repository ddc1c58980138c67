"""A-GEM's draws and projection."""

from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor, nn
from torch.nn import functional as F

from udil_avalanche.plugins import AGEMPlugin
from udil_avalanche.plugins.baselines.agem import agem_projection


def test_the_projection_is_orthogonal_and_the_nearest_such() -> None:
    gradient, reference = torch.randn(50), torch.randn(50)
    projected = agem_projection(gradient, reference)
    assert (projected @ reference).abs() < 1e-4
    removed = gradient - projected
    assert F.cosine_similarity(removed, reference, dim=0).abs() > 1 - 1e-5


class Spy(SupervisedPlugin):
    """Compares each step with the gradient of A-GEM's draw; wraps A-GEM."""

    def __init__(self, agem: AGEMPlugin) -> None:
        super().__init__()
        self.agem = agem
        self.draws: list[Tensor] = []
        self.projected, self.unchanged = 0, 0
        draw = agem.memory.sample

        def sample(size: int) -> Tensor:
            self.draws.append(draw(size))
            return self.draws[-1]

        agem.memory.sample = sample  # type: ignore[method-assign]

    def before_backward(self, strategy: Any, **kwargs: Any) -> None:
        parts = torch.autograd.grad(
            strategy.loss, list(strategy.model.parameters()), retain_graph=True
        )
        self.raw = torch.cat([part.flatten() for part in parts])

    def before_update(self, strategy: Any, **kwargs: Any) -> None:
        step = torch.cat([p.grad.flatten() for p in strategy.model.parameters()])
        if len(self.agem.memory) == 0:
            assert torch.equal(step, self.raw)
            return
        positions, memory = self.draws[-1], self.agem.memory
        logits = strategy.model(memory.fields[0][positions])
        loss = F.cross_entropy(logits, memory.labels[positions])
        parts = torch.autograd.grad(loss, list(strategy.model.parameters()))
        reference = torch.cat([part.flatten() for part in parts])
        if self.raw @ reference >= 0:
            self.unchanged += 1
            assert torch.equal(step, self.raw)
            assert self.agem.terms["violated"] == 0
        else:
            self.projected += 1
            assert self.agem.terms["violated"] == 1
            assert F.cosine_similarity(step, reference, dim=0).abs() < 1e-5
            torch.testing.assert_close(
                step @ self.raw, step @ step, msg="no nearer vector is orthogonal"
            )


def test_every_step_is_projected_by_a_draw_of_its_own(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    agem = AGEMPlugin(mem_size=40, sample_size=12)
    spy = Spy(agem)
    strategy = naive(make_model(), [spy, agem])
    scenario = make_scenario(domains=4, size=160)
    for experience in scenario.train_stream:
        strategy.train(experience)
    assert spy.projected > 5 and spy.unchanged > 5
    assert len(spy.draws) == spy.projected + spy.unchanged == 3 * 10

    last_domain = spy.draws[-10:]
    assert all(len(draw) == 12 for draw in last_domain)
    assert len({tuple(draw.tolist()) for draw in last_domain}) == 10
    assert len(torch.cat(last_domain).unique()) > 35, "all over the memory of 39"


def test_a_draw_smaller_than_the_number_of_past_domains(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    model, agem = make_model(), AGEMPlugin(mem_size=40, sample_size=1)
    naive(model, [agem]).train(make_scenario(domains=4).train_stream)
    assert all(p.isfinite().all() for p in model.parameters())


def test_a_memory_of_zero_is_plain_training(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    models: list[nn.Module] = [make_model(), make_model()]
    for model, plugins in zip(models, ([AGEMPlugin(0)], []), strict=True):
        torch.manual_seed(3)
        naive(model, plugins).train(make_scenario().train_stream)
    for a, b in zip(*(m.parameters() for m in models), strict=True):
        assert torch.equal(a, b)


def test_an_empty_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="sample_size must be positive"):
        AGEMPlugin(sample_size=0)
