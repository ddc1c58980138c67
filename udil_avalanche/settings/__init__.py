"""What there is to set in a run.

Every strategy and every benchmark adds the fields of its own dataclass to those of
:class:`RunSettings`. To add a strategy, write its dataclass and put it into
``STRATEGIES``. This package loads neither torch nor Avalanche, so that the command line
can answer at once.
"""

import ast
import inspect
from dataclasses import fields, make_dataclass
from functools import cache
from typing import Any

from udil_avalanche.settings.benchmarks import (
    ArraysSettings,
    FoldersSettings,
    HDBallsSettings,
    ImageSettings,
    PermutedMnistSettings,
    RotatedMnistSettings,
    SeqCORe50Settings,
)
from udil_avalanche.settings.run import RunSettings
from udil_avalanche.settings.strategies import (
    AGEMSettings,
    CLSERSettings,
    DERSettings,
    ERSettings,
    ESMERSettings,
    ExemplarFreeSettings,
    FineTuneSettings,
    GEMSettings,
    JointSettings,
    LwFSettings,
    OEWCSettings,
    SISettings,
    UDILSettings,
)

STRATEGIES: dict[str, type[RunSettings]] = {
    "UDIL": UDILSettings,
    "Fine-tune": FineTuneSettings,
    "oEWC": OEWCSettings,
    "SI": SISettings,
    "LwF": LwFSettings,
    "GEM": GEMSettings,
    "A-GEM": AGEMSettings,
    "ER": ERSettings,
    "DER++": DERSettings,
    "CLS-ER": CLSERSettings,
    "ESM-ER": ESMERSettings,
    "Joint": JointSettings,
}

BENCHMARKS: dict[str, type[RunSettings]] = {
    "hd_balls": HDBallsSettings,
    "permuted_mnist": PermutedMnistSettings,
    "rotated_mnist": RotatedMnistSettings,
    "seq_core50": SeqCORe50Settings,
    "folders": FoldersSettings,
    "arrays": ArraysSettings,
}


def keeps_samples(strategy: str) -> bool:
    """Whether a strategy has a memory.

    :param strategy: a name from ``STRATEGIES``.
    """
    return not issubclass(STRATEGIES[strategy], ExemplarFreeSettings)


def settings_class(strategy: str, benchmark: str) -> type[RunSettings]:
    """The dataclass with all settings of this strategy on this benchmark.

    Where both change the default of a setting that every run has, the strategy's
    counts.

    :param strategy: a name from ``STRATEGIES``.
    :param benchmark: a name from ``BENCHMARKS``.
    """
    of_every_run = {each.name: each for each in fields(RunSettings)}
    of_strategy = {each.name: each for each in fields(STRATEGIES[strategy])}
    changed = [
        (each.name, each.type, each)
        for each in fields(BENCHMARKS[benchmark])
        if each is not of_every_run.get(each.name)
        and of_strategy.get(each.name) is of_every_run.get(each.name)
        and each.name in of_every_run
    ]
    return make_dataclass(
        f"{strategy} on {benchmark}",
        [("strategy", str, strategy), ("benchmark", str, benchmark), *changed],
        bases=(STRATEGIES[strategy], BENCHMARKS[benchmark]),
        namespace={"__module__": __name__},
    )


def as_dict(settings: RunSettings) -> dict[str, Any]:
    """The settings by name."""
    return {each.name: getattr(settings, each.name) for each in fields(settings)}


def from_dict(written: dict[str, Any]) -> RunSettings:
    """The inverse of :func:`as_dict`.

    :param written: all settings by name.
    """
    return settings_class(written["strategy"], written["benchmark"])(**written)


def meanings(settings: type[RunSettings]) -> dict[str, str]:
    """The line of meaning of every setting, as written below its field.

    :param settings: a dataclass of this package, or what :func:`settings_class` makes.
    """
    found: dict[str, str] = {}
    for base in reversed(settings.__mro__):
        made_here = base.__module__ == __name__
        if issubclass(base, RunSettings) and not made_here:
            found |= _meanings_in(inspect.getsource(base))
    return found


@cache
def _meanings_in(source: str) -> dict[str, str]:
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(meaning))),
            ):
                found[name] = " ".join(meaning.split())
    return found


__all__ = [
    "BENCHMARKS",
    "STRATEGIES",
    "AGEMSettings",
    "ArraysSettings",
    "CLSERSettings",
    "DERSettings",
    "ERSettings",
    "ESMERSettings",
    "FineTuneSettings",
    "FoldersSettings",
    "GEMSettings",
    "HDBallsSettings",
    "ImageSettings",
    "JointSettings",
    "LwFSettings",
    "OEWCSettings",
    "PermutedMnistSettings",
    "RotatedMnistSettings",
    "RunSettings",
    "SISettings",
    "SeqCORe50Settings",
    "UDILSettings",
    "as_dict",
    "from_dict",
    "keeps_samples",
    "meanings",
    "settings_class",
]
