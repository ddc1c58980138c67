"""Unified Domain Incremental Learning (UDIL) on Avalanche.

Importing the package alone loads neither torch nor Avalanche: take what you need from
its modules, e.g. ``from udil_avalanche.strategies import UDIL``.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
