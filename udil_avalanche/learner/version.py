"""A version of a model: all that is needed to continue, to predict and to judge."""

from dataclasses import asdict, dataclass, field
from typing import Any

from torch import Tensor


@dataclass
class DomainRecord:
    """A domain that a version has learned.

    :param name: its name.
    :param samples: how many samples were trained on.
    :param reserve: how many were held out, to test every later version on.
    :param version: the version that learned it, or learned it again.
    """

    name: str
    samples: int
    reserve: int
    version: int


@dataclass
class VersionRecord:
    """What there is to know about a version, in plain values.

    :param number: counts the versions of a model from 1.
    :param parent: the version that it continues; ``None`` for the first.
    :param created: when it was made, as ISO 8601.
    :param domain: the domain that was learned.
    :param domains: all domains so far, in the order in which the memory has them.
    :param classes: the names of the classes, in the order of the model's outputs.
    :param input_shape: the shape of one input, as users give it.
    :param input_type: the inputs' type: ``uint8`` or ``float32``.
    :param reserve: the most samples of a domain that are held out.
    :param data: a digest of the data that were learned.
    :param settings: all settings of the training, by name.
    :param steps: training steps so far, over all versions.
    :param seconds: how long the update took.
    :param changes: for each domain the accuracy before and after, see
        :mod:`~udil_avalanche.learner.judging`.
    :param measured: what the method measured while it learned: Omega, the divergences
        and the terms of the bound.
    :param aside: why the version was not made the current one, if it was not.
    :param forgotten: domains whose samples were removed on request.
    :param software: the software and the machine.
    :param features: the length of a feature vector, if a frozen backbone makes features
        of the inputs: the model is learned from these, and memory and reserve hold
        them.
    """

    number: int
    parent: int | None
    created: str
    domain: str
    domains: list[DomainRecord]
    classes: list[str]
    input_shape: list[int]
    input_type: str
    reserve: int
    data: str
    settings: dict[str, Any]
    steps: int = 0
    seconds: float = 0.0
    changes: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)
    aside: str | None = None
    forgotten: list[str] = field(default_factory=list)
    software: dict[str, Any] = field(default_factory=dict)
    features: int | None = None

    @property
    def learned_shape(self) -> tuple[int, ...]:
        """The shape of what is learned from, and what memory and reserve hold."""
        return tuple(self.input_shape) if self.features is None else (self.features,)

    @property
    def learned_type(self) -> str:
        """Its type: ``uint8`` or ``float32``."""
        return self.input_type if self.features is None else "float32"

    @property
    def names(self) -> list[str]:
        """The names of the domains, in the order in which the memory has them."""
        return [domain.name for domain in self.domains]

    def as_dict(self) -> dict[str, Any]:
        """The record in plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "VersionRecord":
        """The inverse of :meth:`as_dict`.

        :param stored: the plain values.
        """
        domains = [DomainRecord(**each) for each in stored["domains"]]
        return cls(**{**stored, "domains": domains})


@dataclass
class Reserve:
    """Samples of a domain that were never trained on.

    :param inputs: as the model learns from them, one per row.
    :param labels: the class of each.
    """

    inputs: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass
class Version:
    """A version with its tensors.

    :param record: what there is to know about it.
    :param weights: the weights of the model that predicts, from inputs or from features
        of them.
    :param state: what the strategy needs to continue, the memory included, as
        :func:`~udil_avalanche.runs.state.strategy_state.strategy_state` has it.
    :param generators: the random generators after the last step.
    :param reserves: the reserve of each domain that has one, by its name.
    :param backbone: the weights of the frozen backbone; none without one.
    """

    record: VersionRecord
    weights: dict[str, Tensor]
    state: dict[str, Any]
    generators: dict[str, Any]
    reserves: dict[str, Reserve]
    backbone: dict[str, Tensor] = field(default_factory=dict)
