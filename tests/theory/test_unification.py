"""The unification table: each preset has the gradient of its method."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from udil_avalanche.losses import (
    classification_loss,
    distillation_loss,
    model_loss,
    multilabel_classification_loss,
    multilabel_distillation_loss,
)
from udil_avalanche.theory.coefficients import fixed_coefficients
from udil_avalanche.theory.unification import PRESETS

N_CLASSES = 4
BATCH = 6

Losses = tuple[Callable[..., Tensor], Callable[..., Tensor]]


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("t", range(2, 31))
def test_presets_lie_on_the_simplex(name: str, t: int) -> None:
    coefficients = PRESETS[name].coefficients(t)
    assert sum(coefficients) == pytest.approx(1)
    assert min(coefficients) >= 0


def test_the_tables_values() -> None:
    r = 1 - math.exp(-1)
    t = 5
    weight = r * (t - 1) - 1
    expected = {
        "LwF": (0, 1, 0),
        "ER": (0, 0, 1),
        "DER++": (0.5, 0, 0.5),
        "iCaRL": (1, 0, 0),
        "CLS-ER": (3 / 4, 0, 1 / 4),
        "ESM-ER": (weight / (weight + 1), 0, 1 / (weight + 1)),
        "BiC": (4 / 9, 4 / 9, 1 / 9),
    }
    for name, preset in PRESETS.items():
        assert preset.coefficients(t) == pytest.approx(expected[name])


def test_esm_er_at_its_second_domain_is_er() -> None:
    assert PRESETS["ESM-ER"].coefficients(2) == (0, 0, 1)
    assert PRESETS["ESM-ER"].coefficients(3)[0] > 0


class Batch:
    """A model, its history model, and as many samples of each past domain as of the
    current one: the condition of the table on batch sizes."""

    def __init__(self, t: int) -> None:
        self.t = t
        self.model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, N_CLASSES))
        history = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, N_CLASSES))
        self.x = torch.randn(t * BATCH, 5)
        self.labels = torch.randint(N_CLASSES, (t * BATCH,))
        self.domains = torch.arange(t - 1).repeat_interleave(BATCH)
        self.history_logits = history(self.x).detach()
        self.logits = self.model(self.x)

    def rows(self, domain: int | None) -> slice:
        """The rows of a past domain, counted from 0, or of the current one."""
        start = 0 if domain is None else (domain + 1) * BATCH
        return slice(start, start + BATCH)

    def labelled(self, domain: int | None, loss: Callable[..., Tensor]) -> Tensor:
        rows = self.rows(domain)
        return loss(self.logits[rows], self.labels[rows])

    def distilled(self, domain: int | None, loss: Callable[..., Tensor]) -> Tensor:
        rows = self.rows(domain)
        return loss(self.logits[rows], self.history_logits[rows])

    def gradient(self, objective: Tensor) -> Tensor:
        gradients = torch.autograd.grad(
            objective, list(self.model.parameters()), retain_graph=True
        )
        return torch.cat([gradient.flatten() for gradient in gradients])


def transformed_objective(name: str, batch: Batch, losses: Losses) -> Tensor:
    """The column "transformed objective" of the appendix's table, with
    |B_t| = |B'_t| / (t - 1) and the condition of the last column."""
    label, distil = losses
    t = batch.t
    r = 1 - math.exp(-1)
    past = range(t - 1)
    current = batch.labelled(None, label)
    labelled = sum(batch.labelled(i, label) for i in past)
    distilled = sum(batch.distilled(i, distil) for i in past)
    if name == "LwF":
        return current + (t - 1) * batch.distilled(None, distil)
    if name == "ER":
        return current + labelled
    if name == "DER++":
        return current + (labelled + distilled) / 2
    if name == "iCaRL":
        return current + distilled
    if name == "CLS-ER":
        weight = t - 2
        return current + labelled / (t - 1) + weight / (t - 1) * distilled
    if name == "ESM-ER":
        weight = r * (t - 1) - 1
        scale = r * (t - 1)
        return current + labelled / scale + weight / scale * distilled
    # BiC: alpha : beta : gamma = (t-1) : (t-1) : 1 for each past domain, scaled to sum
    # to 1, which is the relaxation that the paper makes.
    cross = (t - 1) * batch.distilled(None, distil)
    return current + ((t - 1) * distilled + (t - 1) * cross + labelled) / (2 * t - 1)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("t", [3, 4, 7])
def test_udils_gradient_is_the_methods(name: str, t: int) -> None:
    torch.manual_seed(t)
    batch = Batch(t)
    losses: Losses = (
        (multilabel_classification_loss, multilabel_distillation_loss)
        if PRESETS[name].multilabel
        else (classification_loss, distillation_loss)
    )
    udil = model_loss(
        logits=batch.logits,
        labels=batch.labels,
        domains=batch.domains,
        history_logits=batch.history_logits,
        omega=fixed_coefficients(PRESETS[name].coefficients(t), t - 1),
        classification=losses[0],
        distillation=losses[1],
    ).total
    expected = batch.gradient(transformed_objective(name, batch, losses))
    torch.testing.assert_close(batch.gradient(udil), expected)
    assert expected.abs().max() > 1e-3


def slow_multilabel(logits: Tensor, targets: Tensor) -> float:
    total = 0.0
    for row, wanted in zip(logits.tolist(), targets.tolist(), strict=True):
        for value, y in zip(row, wanted, strict=True):
            p = 1 / (1 + math.exp(-value))
            total -= y * math.log(p) + (1 - y) * math.log(1 - p)
    return total / len(logits)


def test_multilabel_losses() -> None:
    torch.manual_seed(0)
    logits, history = torch.randn(2, 5, N_CLASSES)
    labels = torch.randint(N_CLASSES, (5,))
    one_hot = nn.functional.one_hot(labels, N_CLASSES).float()
    assert multilabel_classification_loss(logits, labels).item() == pytest.approx(
        slow_multilabel(logits, one_hot)
    )
    assert multilabel_distillation_loss(logits, history).item() == pytest.approx(
        slow_multilabel(logits, history.sigmoid())
    )
