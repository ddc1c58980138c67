"""Training strategies."""

from udil_avalanche.strategies.closed_form import ClosedForm
from udil_avalanche.strategies.joint import Joint
from udil_avalanche.strategies.udil import UDIL

__all__ = ["UDIL", "ClosedForm", "Joint"]
