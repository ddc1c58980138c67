"""The gate, the temperature, and terms that do not depend on the embeddings' scale."""

import pytest
import torch
from torch.nn import functional as F

from udil_avalanche.losses import (
    distillation_loss,
    embedding_distillation_loss,
    history_gate,
    model_loss,
    spread,
    supcon_loss,
)
from udil_avalanche.theory.coefficients import Omega


def test_the_gate_is_how_far_the_history_model_is_above_chance() -> None:
    logits = torch.tensor([[0.0, 0, 0, 0], [50, 0, 0, 0], [0, 50, 0, 0]])
    p = torch.tensor([0.7, 0.1, 0.1, 0.1]).log()
    gate = history_gate(torch.cat([logits, p[None]]), torch.zeros(4, dtype=torch.long))
    torch.testing.assert_close(gate, torch.tensor([0.0, 1.0, 0.0, (0.7 - 0.25) / 0.75]))


def test_the_gate_weights_each_sample_of_the_cross_domain_term() -> None:
    torch.manual_seed(0)
    logits, history = torch.randn(7, 3), torch.randn(7, 3)
    labels, domains = torch.randint(3, (7,)), torch.tensor([0, 0, 1])
    omega = Omega(torch.rand(2), torch.tensor([0.3, 0.4]), torch.rand(2))
    gate = torch.tensor([0.0, 1.0, 0.5, 0.25])
    loss = model_loss(
        logits=logits,
        labels=labels,
        domains=domains,
        history_logits=history,
        omega=omega,
        gate=gate,
    )
    slow = sum(
        float(gate[i])
        * -float((history[i].softmax(0) * logits[i].log_softmax(0)).sum())
        for i in range(4)
    )
    assert loss.cross_domain.item() == pytest.approx(0.7 * slow / 4, rel=1e-5)


@pytest.mark.parametrize("T", [1.0, 2.0, 4.0])
def test_distillation_at_a_temperature(T: float) -> None:
    torch.manual_seed(0)
    logits, history = torch.randn(5, 4), 3 * torch.randn(5, 4)
    slow = [
        -T * T * float((F.softmax(b / T, 0) * F.log_softmax(a / T, 0)).sum())
        for a, b in zip(logits, history, strict=True)
    ]
    found = distillation_loss(logits, history, "none", temperature=T)
    torch.testing.assert_close(found, torch.tensor(slow))


def test_distances_in_units_of_the_spread_do_not_depend_on_scale_or_place() -> None:
    torch.manual_seed(0)
    e, history = torch.randn(12, 6), torch.randn(12, 6)
    labels, domains = torch.randint(2, (12,)), torch.arange(3).repeat_interleave(4)
    slow = sum(float((row - e.mean(dim=0)).norm() ** 2) for row in e) / 12
    assert spread(e).item() == pytest.approx(slow, rel=1e-5)
    V_p = [
        embedding_distillation_loss(k * e, k * history, domains, 3, spread(k * history))
        for k in (1.0, 100.0)
    ]
    torch.testing.assert_close(*V_p)
    V_s = [supcon_loss(k * e, labels, 0.2 * spread(k * e)) for k in (1.0, 100.0)]
    torch.testing.assert_close(*V_s)


def test_smaller_embeddings_do_not_lower_V_s() -> None:
    """The derivative by the scale is 0: nothing draws all embeddings together."""
    torch.manual_seed(0)
    e, labels = torch.randn(12, 6, requires_grad=True), torch.randint(3, (12,))
    supcon_loss(e, labels, 0.2 * spread(e)).backward()
    assert e.grad is not None and e.grad.norm() > 0.1
    shrinking = (e - e.mean(dim=0)).detach()
    assert abs(float((e.grad * shrinking).sum())) < 1e-5
