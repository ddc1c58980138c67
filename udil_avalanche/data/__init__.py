"""Domains as tensors or image files, and how Avalanche sees them.

The names are loaded when they are first used: reading an image does not wait for
Avalanche.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
