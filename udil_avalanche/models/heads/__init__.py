"""Classifiers on fixed features that are computed, not trained."""

from udil_avalanche.models.heads.closed_form import ClosedFormHead
from udil_avalanche.models.heads.discriminant_analysis import DiscriminantAnalysis
from udil_avalanche.models.heads.nearest_class_mean import NearestClassMean
from udil_avalanche.models.heads.random_ridge import RandomRidge

__all__ = [
    "ClosedFormHead",
    "DiscriminantAnalysis",
    "NearestClassMean",
    "RandomRidge",
]
