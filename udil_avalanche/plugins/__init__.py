"""The parts of UDIL as Avalanche plugins, each of use to other strategies too."""

from udil_avalanche.plugins.balanced_replay import BalancedReplayPlugin, MemoryBatch
from udil_avalanche.plugins.coefficients import AdaptiveCoefficientsPlugin
from udil_avalanche.plugins.discriminator import DiscriminatorPlugin
from udil_avalanche.plugins.embedding_distillation import EmbeddingDistillationPlugin
from udil_avalanche.plugins.history_model import HistoryModelPlugin
from udil_avalanche.plugins.supcon import SupConPlugin
from udil_avalanche.plugins.tensor_loader import TensorLoaderPlugin

__all__ = [
    "AdaptiveCoefficientsPlugin",
    "BalancedReplayPlugin",
    "DiscriminatorPlugin",
    "EmbeddingDistillationPlugin",
    "HistoryModelPlugin",
    "MemoryBatch",
    "SupConPlugin",
    "TensorLoaderPlugin",
]
