"""From settings to what they describe: benchmarks, models and strategies.

To add a strategy or a benchmark, write a function that makes it from its settings and
put it into ``STRATEGIES`` in ``strategy.py`` or ``BENCHMARKS`` in ``benchmark.py``,
beside its dataclass in :mod:`udil_avalanche.settings`.
"""

from udil_avalanche.build.benchmark import BENCHMARKS, build_benchmark
from udil_avalanche.build.model import build_model
from udil_avalanche.build.strategy import STRATEGIES, build_strategy

__all__ = [
    "BENCHMARKS",
    "STRATEGIES",
    "build_benchmark",
    "build_model",
    "build_strategy",
]
