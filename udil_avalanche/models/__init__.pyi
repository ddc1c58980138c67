from .backbones import Backbone, make_backbone, with_backbone
from .discriminator import DomainDiscriminator
from .heads import (
    ClosedFormHead,
    DiscriminantAnalysis,
    NearestClassMean,
    RandomRidge,
)
from .image_models import image_model
from .mlp import EncoderPredictor, cida_mlp, mlp
from .standardise import Standardise, standardised

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
