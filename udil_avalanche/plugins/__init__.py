"""The parts of UDIL and other methods as plugins for any Avalanche strategy."""

from udil_avalanche.plugins.baselines.agem import AGEMPlugin
from udil_avalanche.plugins.baselines.cls_er import CLSERPlugin
from udil_avalanche.plugins.baselines.der import DERPlugin
from udil_avalanche.plugins.baselines.esm_er import ESMERPlugin
from udil_avalanche.plugins.baselines.gem import GEMPlugin
from udil_avalanche.plugins.baselines.learning_without_forgetting import LwFPlugin
from udil_avalanche.plugins.baselines.online_ewc import OnlineEWCPlugin
from udil_avalanche.plugins.baselines.synaptic_intelligence import (
    SynapticIntelligencePlugin,
)
from udil_avalanche.plugins.loaders.image_loader import ImageLoaderPlugin
from udil_avalanche.plugins.loaders.tensor_loader import TensorLoaderPlugin
from udil_avalanche.plugins.training.annealing import AnnealingPlugin
from udil_avalanche.plugins.training.averaged_weights import AveragedWeightsPlugin
from udil_avalanche.plugins.training.dead_training import DeadTrainingPlugin
from udil_avalanche.plugins.training.finite_loss import FiniteLossPlugin
from udil_avalanche.plugins.training.gradient_clipping import GradientClippingPlugin
from udil_avalanche.plugins.training.random_flip import RandomFlipPlugin
from udil_avalanche.plugins.udil.balanced_replay import (
    BalancedReplayPlugin,
    MemoryBatch,
)
from udil_avalanche.plugins.udil.coefficients import AdaptiveCoefficientsPlugin
from udil_avalanche.plugins.udil.discriminator import DiscriminatorPlugin
from udil_avalanche.plugins.udil.embedding_distillation import (
    EmbeddingDistillationPlugin,
)
from udil_avalanche.plugins.udil.history_model import HistoryModelPlugin
from udil_avalanche.plugins.udil.supcon import SupConPlugin

__all__ = [
    "AGEMPlugin",
    "AdaptiveCoefficientsPlugin",
    "AnnealingPlugin",
    "AveragedWeightsPlugin",
    "BalancedReplayPlugin",
    "CLSERPlugin",
    "DERPlugin",
    "DeadTrainingPlugin",
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
