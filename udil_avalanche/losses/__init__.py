"""One function per equation of the paper; they depend only on torch."""

from udil_avalanche.losses.classification import classification_loss
from udil_avalanche.losses.coefficient_loss import (
    coefficient_gradient,
    coefficient_loss,
)
from udil_avalanche.losses.coefficient_solution import coefficient_solution
from udil_avalanche.losses.distillation import distillation_loss
from udil_avalanche.losses.divergence import (
    cross_entropy_divergence,
    discriminator_loss,
    empirical_divergence,
    encoder_alignment_loss,
)
from udil_avalanche.losses.embedding_distillation import (
    embedding_distillation_loss,
    long_stream_weight,
)
from udil_avalanche.losses.gate import history_gate
from udil_avalanche.losses.model_loss import ModelLoss, model_loss
from udil_avalanche.losses.multilabel import (
    multilabel_classification_loss,
    multilabel_distillation_loss,
)
from udil_avalanche.losses.objective import objective
from udil_avalanche.losses.past_weight import (
    known_share,
    novelty,
    objective_scale,
    past_scale,
)
from udil_avalanche.losses.spread import spread
from udil_avalanche.losses.supcon import supcon_loss
from udil_avalanche.losses.temperature import telling_temperature

__all__ = [
    "ModelLoss",
    "classification_loss",
    "coefficient_gradient",
    "coefficient_loss",
    "coefficient_solution",
    "cross_entropy_divergence",
    "discriminator_loss",
    "distillation_loss",
    "embedding_distillation_loss",
    "empirical_divergence",
    "encoder_alignment_loss",
    "history_gate",
    "known_share",
    "long_stream_weight",
    "model_loss",
    "multilabel_classification_loss",
    "multilabel_distillation_loss",
    "novelty",
    "objective",
    "objective_scale",
    "past_scale",
    "spread",
    "supcon_loss",
    "telling_temperature",
]
