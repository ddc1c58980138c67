"""Networks h = p o e, and the domain discriminator."""

from udil_avalanche.models.backbones import Backbone, make_backbone, with_backbone
from udil_avalanche.models.discriminator import DomainDiscriminator
from udil_avalanche.models.heads import (
    ClosedFormHead,
    DiscriminantAnalysis,
    NearestClassMean,
    RandomRidge,
)
from udil_avalanche.models.image_models import image_model
from udil_avalanche.models.mlp import EncoderPredictor, cida_mlp, mlp
from udil_avalanche.models.standardise import Standardise, standardised

__all__ = [
    "Backbone",
    "ClosedFormHead",
    "DiscriminantAnalysis",
    "DomainDiscriminator",
    "EncoderPredictor",
    "NearestClassMean",
    "RandomRidge",
    "Standardise",
    "cida_mlp",
    "image_model",
    "make_backbone",
    "mlp",
    "standardised",
    "with_backbone",
]
