"""Unified Domain Incremental Learning (UDIL) on Avalanche.

The public names are those of ``__init__.pyi``. They are loaded when they are first
used: importing the package alone loads neither torch nor Avalanche.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
