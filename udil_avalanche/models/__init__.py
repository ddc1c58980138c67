"""Networks h = p o e, and the domain discriminator."""

from udil_avalanche.models.discriminator import DomainDiscriminator
from udil_avalanche.models.image_models import image_model
from udil_avalanche.models.mlp import EncoderPredictor, cida_mlp, mlp
from udil_avalanche.models.standardise import Standardise, standardised

__all__ = [
    "DomainDiscriminator",
    "EncoderPredictor",
    "Standardise",
    "cida_mlp",
    "image_model",
    "mlp",
    "standardised",
]
