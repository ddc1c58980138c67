"""Networks h = p o e, and the domain discriminator."""

from udil_avalanche.models.discriminator import DomainDiscriminator
from udil_avalanche.models.image_models import image_model
from udil_avalanche.models.mlp import EncoderPredictor, cida_mlp, mlp

__all__ = ["DomainDiscriminator", "EncoderPredictor", "cida_mlp", "image_model", "mlp"]
