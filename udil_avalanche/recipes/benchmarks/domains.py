"""How the domains of our benchmarks are built."""

from udil_avalanche.recipes.settings import RunSettings, arguments
from udil_avalanche.recipes.types import DomainScenario


def build_domains(settings: RunSettings) -> DomainScenario:
    """Call the function of :mod:`udil_avalanche.benchmarks` that has the benchmark's
    name, with the settings that it has parameters for.

    :param settings: the settings of the run.
    """
    from udil_avalanche import benchmarks

    function = getattr(benchmarks, settings.benchmark)
    scenario: DomainScenario = function(**arguments(function, settings))
    return scenario
