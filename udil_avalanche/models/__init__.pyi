from .discriminator import DomainDiscriminator
from .image_models import image_model
from .mlp import EncoderPredictor, cida_mlp, mlp
from .standardise import Standardise, standardised

__all__ = [
    "DomainDiscriminator",
    "EncoderPredictor",
    "Standardise",
    "cida_mlp",
    "image_model",
    "mlp",
    "standardised",
]
