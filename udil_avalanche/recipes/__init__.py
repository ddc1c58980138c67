"""Methods and benchmarks: their settings, and how they are built.

Importing this room loads neither torch nor Avalanche.
"""

from udil_avalanche.recipes.catalogue import BENCHMARKS, METHODS
from udil_avalanche.recipes.settings import Role, RunSettings, Was, as_dict

__all__ = ["BENCHMARKS", "METHODS", "Role", "RunSettings", "Was", "as_dict"]
