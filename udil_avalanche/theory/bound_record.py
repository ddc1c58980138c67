"""Theorem 3.4 at the end of a domain, as plain numbers to keep and to look at."""

from typing import Any

from udil_avalanche.theory.bound import BoundEstimates, bound_terms, unified_bound
from udil_avalanche.theory.coefficients import Omega, fixed_coefficients
from udil_avalanche.theory.tightest_bound import tightest_bound
from udil_avalanche.theory.unification import PRESETS

TERMS = (
    "erm",
    "intra_domain",
    "cross_domain",
    "divergence",
    "history",
    "generalization",
)
"""The terms of the bound that depend on Omega, in the order of Theorem 3.4."""


def bound_record(omega: Omega, estimates: BoundEstimates, c: float) -> dict[str, Any]:
    """The right-hand side of Theorem 3.4, term by term, and what it would be with other
    coefficients for the same model: those of each method of Table 1, and the tightest
    (Corollary 3.4.1), which none of them is below.

    :param omega: the coefficients.
    :param estimates: errors, disagreements and divergences.
    :param c: the paper's C.
    """
    n_past = len(omega.beta)
    terms = bound_terms(omega, estimates, c)
    fixed = {
        name: Omega(
            *(
                each.to(omega.beta)
                for each in fixed_coefficients(preset.coefficients(n_past + 1), n_past)
            )
        )
        for name, preset in PRESETS.items()
    }
    return {
        "bound": float(unified_bound(omega, estimates, c)),
        "current_error": float(estimates.current_error),
        "terms": {name: float(value) for name, value in zip(TERMS, terms, strict=True)},
        "with": {
            name: float(unified_bound(each, estimates, c))
            for name, each in fixed.items()
        },
        "tightest": float(tightest_bound(estimates, c)) if c > 0 else None,
        "divergence": estimates.divergence.tolist(),
        "history_error": estimates.history_error.tolist(),
    }
