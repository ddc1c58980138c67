"""Training strategies."""

from udil_avalanche.strategies.udil import UDIL

__all__ = ["UDIL"]
