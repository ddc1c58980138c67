"""The versions of a model: who came from whom, and how accurate each one is."""

from dataclasses import dataclass
from typing import Any

from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.version import DomainRecord, VersionRecord


@dataclass(frozen=True)
class History:
    """All versions of a model.

    :param records: the versions, the oldest first.
    :param current: the number of the version in use.
    """

    records: list[VersionRecord]
    current: int

    @classmethod
    def of(cls, folder: ModelFolder) -> "History":
        """The history of a model on disk.

        :param folder: the model's folder.
        """
        return cls(folder.records(), folder.current)

    @property
    def in_use(self) -> VersionRecord:
        """The version in use."""
        return self._by_number[self.current]

    @property
    def line(self) -> list[VersionRecord]:
        """The versions that led to the one in use, the oldest first, and it itself."""
        by_number, found = self._by_number, [self.in_use]
        while (parent := found[-1].parent) in by_number:
            found.append(by_number[parent])
        return found[::-1]

    @property
    def domains(self) -> list[str]:
        """The names of all domains that any version has learned, in their order."""
        return list(
            dict.fromkeys(name for record in self.records for name in record.names)
        )

    @property
    def forgotten(self) -> list[str]:
        """Domains whose samples were removed on request."""
        return list(
            dict.fromkeys(name for each in self.records for name in each.forgotten)
        )

    def state(self, record: VersionRecord) -> str:
        """What a version is to the model today, in words; empty for one that the
        version in use continues.

        :param record: the version.
        """
        if record.number == self.current:
            return "in use"
        if record.number in {each.number for each in self.line}:
            return ""
        if record.aside is None:
            return "not in use"
        return f"set aside: it costs {record.aside}"

    def as_dict(self) -> dict[str, Any]:
        """The history in plain values."""
        return {
            "current": self.current,
            "versions": [record.as_dict() for record in self.records],
        }

    @property
    def _by_number(self) -> dict[int | None, VersionRecord]:
        return {record.number: record for record in self.records}


def learned(record: VersionRecord) -> DomainRecord | None:
    """The domain that a version has learned; ``None`` if its samples were removed.

    :param record: the version.
    """
    return next((d for d in record.domains if d.name == record.domain), None)


def accuracy(record: VersionRecord, domain: str) -> float | None:
    """The accuracy of a version on a domain's reserve, in percent; ``None`` if it is
    not known.

    :param record: the version.
    :param domain: the domain's name.
    """
    found: float | None = record.changes.get(domain, {}).get("after")
    return found


def mean_accuracy(record: VersionRecord) -> float | None:
    """The mean of the accuracies on all domains that a version has learned, as far as
    they are known.

    :param record: the version.
    """
    found = [accuracy(record, name) for name in record.names]
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known else None


def has_changed(record: VersionRecord, domain: str) -> int:
    """Whether an update made a domain better, 1, or worse, -1, beyond chance: its
    paired interval leaves out 0.

    :param record: the version.
    :param domain: the domain's name.
    """
    change = record.changes.get(domain, {})
    low, high = change.get("low"), change.get("high")
    if low is None or high is None:
        return 0
    return int(low > 0) - int(high < 0)
