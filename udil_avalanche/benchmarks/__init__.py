"""Domain-incremental benchmarks."""

from udil_avalanche.benchmarks.hd_balls import hd_balls
from udil_avalanche.benchmarks.mnist import permuted_mnist, rotated_mnist
from udil_avalanche.benchmarks.mnist_files import load_mnist

__all__ = ["hd_balls", "load_mnist", "permuted_mnist", "rotated_mnist"]
