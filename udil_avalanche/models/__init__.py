"""Networks h = p o e, and the domain discriminator.

The names are loaded when they are first used: a perceptron does not wait for
torchvision.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
