"""The unification table (Table 1 of the paper): methods as fixed coefficients.

Each function returns a method's (alpha, beta, gamma) in domain t, the same for all past
domains, under the condition that appendix B states for it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """A method of the table."""

    coefficients: Callable[[int], tuple[float, float, float]]
    """Domain t, from 2, to (alpha, beta, gamma)."""

    multilabel: bool = False
    """Whether to use the multi-label losses, as iCaRL does."""


def lwf(t: int) -> tuple[float, float, float]:
    """LwF with its loss balance at t - 1: distillation on the current domain alone."""
    return 0.0, 1.0, 0.0


def er(t: int) -> tuple[float, float, float]:
    """ER, if each past domain has as many samples in the step as the current one."""
    return 0.0, 0.0, 1.0


def der_plus_plus(t: int) -> tuple[float, float, float]:
    """DER++, under the condition of ER: half labels, half distillation."""
    return 0.5, 0.0, 0.5


def icarl(t: int) -> tuple[float, float, float]:
    """iCaRL, under the condition of ER: distillation on the memory alone, with the
    multi-label loss."""
    return 1.0, 0.0, 0.0


def cls_er(t: int) -> tuple[float, float, float]:
    """CLS-ER with distillation weight lambda = t - 2, for which the coefficients sum
    to 1."""
    return _distilled(t - 2.0)


def esm_er(t: int) -> tuple[float, float, float]:
    """ESM-ER with distillation weight lambda = r (t - 1) - 1, where r = 1 - 1/e
    is the share of samples that its error modulation lets through.

    At t = 2 this lambda is negative and would give alpha = -0.58 and gamma = 1.58. The
    model would be pushed away from the history model, and the bound would not hold.
    The nearest coefficients for which it holds are those of ER: lambda = 0.
    """
    r = 1 - math.exp(-1)
    return _distilled(max(0.0, r * (t - 1) - 1))


def bic(t: int) -> tuple[float, float, float]:
    """BiC, with as many samples of each past domain as of the current one, scaled to
    sum to 1. The paper's main table swaps alpha and gamma; this is its derivation."""
    return (t - 1) / (2 * t - 1), (t - 1) / (2 * t - 1), 1 / (2 * t - 1)


def _distilled(weight: float) -> tuple[float, float, float]:
    return weight / (weight + 1), 0.0, 1 / (weight + 1)


PRESETS = {
    "LwF": Preset(lwf),
    "ER": Preset(er),
    "DER++": Preset(der_plus_plus),
    "iCaRL": Preset(icarl, multilabel=True),
    "CLS-ER": Preset(cls_er),
    "ESM-ER": Preset(esm_er),
    "BiC": Preset(bic),
}
"""The methods of the table by name: ``PRESETS["DER++"].coefficients(2)`` is (1/2, 0,
1/2). :class:`~udil_avalanche.UDIL` takes one as ``preset``; see :doc:`/unification`."""
