"""The accuracy matrix of a run, the paper's metrics from it, and logged loss terms.

This package exports the formulas, which need only NumPy, so that reports can be
made from stored matrices without loading PyTorch. The Avalanche metrics are in
:mod:`~udil_avalanche.evaluation.domain_metrics` and
:mod:`~udil_avalanche.evaluation.term_metrics`.
"""

from udil_avalanche.evaluation.formulas import (
    average_accuracy,
    average_of_average_accuracy,
    forgetting,
    forward_transfer,
)

__all__ = [
    "average_accuracy",
    "average_of_average_accuracy",
    "forgetting",
    "forward_transfer",
]
