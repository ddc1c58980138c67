"""Features of image files: computed once by all cores, and kept."""

from udil_avalanche.benchmarks.features.frozen_features import FrozenFeatures
from udil_avalanche.benchmarks.features.store import FeatureStore

__all__ = ["FeatureStore", "FrozenFeatures"]
