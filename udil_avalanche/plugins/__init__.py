"""The parts of UDIL as Avalanche plugins, each of use to other strategies too."""

from udil_avalanche.plugins.agem import AGEMPlugin
from udil_avalanche.plugins.annealing import AnnealingPlugin
from udil_avalanche.plugins.balanced_replay import BalancedReplayPlugin, MemoryBatch
from udil_avalanche.plugins.cls_er import CLSERPlugin
from udil_avalanche.plugins.coefficients import AdaptiveCoefficientsPlugin
from udil_avalanche.plugins.der import DERPlugin
from udil_avalanche.plugins.discriminator import DiscriminatorPlugin
from udil_avalanche.plugins.embedding_distillation import EmbeddingDistillationPlugin
from udil_avalanche.plugins.esm_er import ESMERPlugin
from udil_avalanche.plugins.finite_loss import FiniteLossPlugin
from udil_avalanche.plugins.gem import GEMPlugin
from udil_avalanche.plugins.gradient_clipping import GradientClippingPlugin
from udil_avalanche.plugins.history_model import HistoryModelPlugin
from udil_avalanche.plugins.image_loader import ImageLoaderPlugin
from udil_avalanche.plugins.learning_without_forgetting import LwFPlugin
from udil_avalanche.plugins.online_ewc import OnlineEWCPlugin
from udil_avalanche.plugins.random_flip import RandomFlipPlugin
from udil_avalanche.plugins.supcon import SupConPlugin
from udil_avalanche.plugins.synaptic_intelligence import SynapticIntelligencePlugin
from udil_avalanche.plugins.tensor_loader import TensorLoaderPlugin

__all__ = [
    "AGEMPlugin",
    "AdaptiveCoefficientsPlugin",
    "AnnealingPlugin",
    "BalancedReplayPlugin",
    "CLSERPlugin",
    "DERPlugin",
    "DiscriminatorPlugin",
    "ESMERPlugin",
    "EmbeddingDistillationPlugin",
    "FiniteLossPlugin",
    "GEMPlugin",
    "GradientClippingPlugin",
    "HistoryModelPlugin",
    "ImageLoaderPlugin",
    "LwFPlugin",
    "MemoryBatch",
    "OnlineEWCPlugin",
    "RandomFlipPlugin",
    "SupConPlugin",
    "SynapticIntelligencePlugin",
    "TensorLoaderPlugin",
]
