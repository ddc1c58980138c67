"""The memory bank M: a few samples of every past domain."""

from udil_avalanche.memory.balanced import BalancedMemory
from udil_avalanche.memory.base import Memory
from udil_avalanche.memory.reservoir import ReservoirMemory

__all__ = ["BalancedMemory", "Memory", "ReservoirMemory"]
