"""Domain-incremental benchmarks."""

from udil_avalanche.benchmarks.arrays import arrays
from udil_avalanche.benchmarks.core50 import seq_core50
from udil_avalanche.benchmarks.embed import embed
from udil_avalanche.benchmarks.fashion_mnist import rotated_fashion_mnist
from udil_avalanche.benchmarks.fetching.fashion_mnist_files import load_fashion_mnist
from udil_avalanche.benchmarks.fetching.mnist_files import load_mnist
from udil_avalanche.benchmarks.folders import folders
from udil_avalanche.benchmarks.hd_balls import hd_balls
from udil_avalanche.benchmarks.mnist import mixed_mnist, permuted_mnist, rotated_mnist

__all__ = [
    "arrays",
    "embed",
    "folders",
    "hd_balls",
    "load_fashion_mnist",
    "load_mnist",
    "mixed_mnist",
    "permuted_mnist",
    "rotated_fashion_mnist",
    "rotated_mnist",
    "seq_core50",
]
