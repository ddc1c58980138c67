"""What there is to set in a run.

Every strategy and every benchmark adds the fields of its own dataclass to those of
:class:`RunSettings`. To add a strategy, write its dataclass and put it into
``STRATEGIES``. This module loads neither torch nor Avalanche, so that the command line
can answer at once.
"""

import ast
import inspect
import math
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any, Literal


def number(
    default: float | None,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
) -> Any:
    """A field that holds a number within limits."""
    limits = {"at_least": at_least, "above": above, "at_most": at_most, "below": below}
    return field(default=default, metadata=limits)


@dataclass
class RunSettings:
    """What every run has."""

    strategy: str = ""
    """how to learn; see --list"""
    benchmark: str = ""
    """what to learn; see --list"""
    memory: int = number(400, at_least=0)
    """samples kept of all past domains together"""
    seed: int = number(0, at_least=0, below=2**32)
    """every random draw follows from it: data, initial weights, order of the batches"""
    epochs: int = number(1, at_least=1)
    """passes over the training data of each domain"""
    domains: int = number(20, at_least=1)
    """number of domains"""
    train_per_domain: int | None = number(None, at_least=1)
    """training samples of each domain; null: all that the benchmark has"""
    batch_size: int = number(128, at_least=1)
    """samples of the current domain in a step"""
    eval_batch_size: int = number(1000, at_least=1)
    """samples in a batch of the evaluation"""
    optimizer: Literal["adam", "sgd"] = "sgd"
    """optimizer of the model: adam or sgd"""
    lr: float = number(0.1, above=0)
    """learning rate of the model"""
    momentum: float = number(0.0, at_least=0, below=1)
    """momentum of sgd"""
    weight_decay: float = number(0.0, at_least=0)
    """weight decay of the model's optimizer"""
    clip_norm: float | None = number(None, above=0)
    """largest norm that the model's gradient keeps in a step; null: any"""
    anneal: float = number(0.0, at_least=0, at_most=1)
    """share of each domain's steps, its last ones, over which the learning rate falls
    to a tenth"""
    hidden: int = number(800, at_least=1)
    """width of the model's hidden layers"""
    validation: float = number(0.0, at_least=0, below=1)
    """share of every training domain that is held out and tested on instead of the
    test set: for choosing settings"""
    device: str = "cpu"
    """where to compute: cpu, cuda, cuda:1, mps"""
    threads: int | None = number(None, at_least=1)
    """threads that torch computes with; null: as many as it likes"""
    output: str = "runs"
    """folder for the run folders"""
    data: str = "data"
    """folder for the datasets"""


@dataclass
class HDBallsSettings(RunSettings):
    """High-dimensional Gaussian balls, two classes: half of each ball."""

    dimensions: int = number(100, at_least=2)
    """dimensions of the space"""
    sigma: float = number(0.2, above=0)
    """standard deviation of a ball in every dimension"""
    test_per_domain: int = number(2000, at_least=1)
    """test samples of each domain"""
    network: Literal["shallow", "cida"] = "shallow"
    """two hidden layers, or the eight layers of CIDA's circle"""


@dataclass
class PermutedMnistSettings(RunSettings):
    """MNIST, its pixels in another order in every domain."""


@dataclass
class RotatedMnistSettings(RunSettings):
    """MNIST, domain t turned by an angle from [9(t-1), 9t) degrees."""

    per_image_angles: bool = False
    """draw an angle for every image instead of one for the whole domain"""


@dataclass
class FineTuneSettings(RunSettings):
    """Trains on one domain after another and does nothing against forgetting."""

    memory: int = number(0, at_least=0, at_most=0)
    """fine-tuning keeps no samples"""


@dataclass
class ERSettings(RunSettings):
    """Experience replay: every step sees some of the samples in memory as well."""

    memory_batch: int = number(128, at_least=1)
    """samples from the memory in a step"""


@dataclass
class UDILSettings(RunSettings):
    """Unified Domain Incremental Learning: adaptive coefficients, aligned domains."""

    coefficients: Literal[
        "learned", "LwF", "ER", "DER++", "iCaRL", "CLS-ER", "ESM-ER", "BiC"
    ] = "learned"
    """alpha, beta and gamma: learned, or held where a method of the unification table
    has them"""
    memory_batch: int = number(128, at_least=1)
    """samples from the memory in a step"""
    class_balanced_memory: bool = False
    """share a domain's part of the memory out evenly between its classes"""
    C: float = number(1.0, at_least=0)
    """weight of the generalisation term in V_0-1: the larger, the more the many samples
    of the current domain count (beta) against the few in memory"""
    lambda_d: float = number(0.1, at_least=0)
    """weight of the adversarial alignment V_d; 0 leaves it out"""
    lambda_p: float = number(1.0, at_least=0)
    """weight of the past-embedding distillation V_p; 0 leaves it out"""
    lambda_s: float = number(0.01, at_least=0)
    """weight of the supervised contrastive loss V_s; 0 leaves it out"""
    temperature: float = number(1.0, above=0)
    """divides the squared distances in V_s"""
    cross_domain_threshold: float | None = number(None, above=0)
    """leave the cross-domain term of V_l out of a step in which its loss is larger;
    null: never"""
    lr_discriminator: float = number(1e-4, above=0)
    """learning rate of the domain discriminator's Adam"""
    lr_coefficients: float = number(2e-3, above=0)
    """learning rate of the Adam that learns alpha, beta and gamma"""
    hidden_discriminator: int = number(800, at_least=1)
    """width of the domain discriminator's hidden layers"""
    domain_power: float = number(0.0, at_least=0)
    """divide the objective, a sum over the domains so far, by their number to this
    power: at 0 the steps of sgd grow with every domain, 1 averages"""
    reset_optimizer: bool = True
    """forget the state of the model's optimizer before each domain"""


STRATEGIES: dict[str, type[RunSettings]] = {
    "UDIL": UDILSettings,
    "ER": ERSettings,
    "Fine-tune": FineTuneSettings,
}

BENCHMARKS: dict[str, type[RunSettings]] = {
    "hd_balls": HDBallsSettings,
    "permuted_mnist": PermutedMnistSettings,
    "rotated_mnist": RotatedMnistSettings,
}


def settings_class(strategy: str, benchmark: str) -> type[RunSettings]:
    """The dataclass with all settings of this strategy on this benchmark.

    :param strategy: a name from ``STRATEGIES``.
    :param benchmark: a name from ``BENCHMARKS``.
    """
    return make_dataclass(
        f"{strategy} on {benchmark}",
        [("strategy", str, strategy), ("benchmark", str, benchmark)],
        bases=(STRATEGIES[strategy], BENCHMARKS[benchmark]),
    )


def as_dict(settings: RunSettings) -> dict[str, Any]:
    """The settings by name."""
    return {each.name: getattr(settings, each.name) for each in fields(settings)}


def meanings(settings: type[RunSettings]) -> dict[str, str]:
    """The line of meaning of every setting, as written below its field.

    :param settings: a dataclass of this module or one that :func:`settings_class` made.
    """
    written_here = [base for base in settings.__mro__ if base.__module__ == __name__]
    found: dict[str, str] = {}
    for base in reversed(written_here):
        found |= _own_meanings(base)
    return found


def _own_meanings(settings: type) -> dict[str, str]:
    (definition,) = ast.parse(inspect.getsource(settings)).body
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
    "ERSettings",
    "FineTuneSettings",
    "HDBallsSettings",
    "PermutedMnistSettings",
    "RotatedMnistSettings",
    "RunSettings",
    "UDILSettings",
    "as_dict",
    "meanings",
    "number",
    "settings_class",
]
