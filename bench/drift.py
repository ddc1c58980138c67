"""How often new samples are taken for what they are: ``python -m bench.drift``.

UDIL learns some domains of rotated digits. Samples that come later are of one of these
domains, of one of them with other frequencies of the classes, or of a domain 30 degrees
further than the latest. None of them has labels.

Rows: known = samples of a domain learned; skewed = the same with other frequencies of
the classes; new = 30 degrees further. Columns: how many draws were called new; how many
unclear; how many were named rightly (their domain, or new); the mean distance between
the accuracy expected without labels and the true one, in points, and its bias; and how
often the interval of the expected accuracy held the accuracy of the domain.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor

from bench.learned_rotations import Learned, Rotations, learn, rotations
from bench.report import show
from udil_avalanche.learner.expected_accuracy import (
    expected_accuracy,
    measured_accuracy,
)
from udil_avalanche.learner.two_sample import two_sample_test
from udil_avalanche.learner.verdict import Verdict, verdict

STEP = 9.0
"""Degrees from one domain to the next, as in the paper."""
FURTHER = 30.0
"""Degrees from the latest domain to a new one."""
KNOWN, SKEWED, NEW = "known", "skewed", "new"


@dataclass(frozen=True)
class Compared:
    """Samples as they are compared.

    :param features: one row per sample.
    :param classes: the classes that the model predicts.
    """

    features: Tensor
    classes: Tensor


@dataclass(frozen=True)
class Found:
    """What was found out about one draw of samples.

    :param says: the verdict.
    :param is_named: whether it names the right domain, or says rightly that it is new.
    :param error: the accuracy expected without labels minus the true one, in points.
    :param is_inside: whether the interval of the expected accuracy holds the accuracy
        on all samples of that kind.
    """

    says: Verdict
    is_named: bool
    error: float | None = None
    is_inside: bool | None = None


class Inspected:
    """A model that has learned its domains, and the samples that it is shown.

    :param learned: the model.
    :param domains: what it has learned, with or without a reserve.
    """

    def __init__(self, learned: Learned, domains: Rotations) -> None:
        self.learned, self.domains = learned, domains
        self.names = [f"{angle:.0f}°" for angle in domains.angles]
        self.reserve: list[tuple[Tensor, Tensor]] = []
        self._outputs: dict[float, tuple[Tensor, Tensor, Tensor]] = {}
        if len(domains.reserve[0][1]):
            images = [each for each, _ in domains.reserve]
            outputs = [learned.outputs(each) for each in images]
            self.known = [Compared(z, p.argmax(dim=1)) for z, p in outputs]
            self.reserve = [
                (p, labels)
                for (_, p), (_, labels) in zip(outputs, domains.reserve, strict=True)
            ]
        else:
            assert learned.memory is not None
            inputs, domain = learned.memory
            self.known = [
                self.compared(
                    inputs[domain == i], *learned.outputs(inputs[domain == i])
                )
                for i in range(len(self.names))
            ]

    def compared(self, images: Tensor, z: Tensor, p: Tensor) -> Compared:
        """Embeddings if there is a reserve to compare them with, else inputs."""
        pixels = images.flatten(start_dim=1)
        if not self.reserve:
            z = pixels / 255 if pixels.dtype == torch.uint8 else pixels
        return Compared(z, p.argmax(dim=1))

    def inspect(
        self, angle: float, name: str | None, n: int, seed: int, *, skewed: bool = False
    ) -> Found:
        """Draw samples and judge them.

        :param angle: that they are rotated by.
        :param name: of their domain; None for a new one.
        :param n: how many.
        :param seed: of the draw.
        :param skewed: whether classes are as frequent as a random draw says.
        """
        images, z, p = self._later(angle)
        labels = self.domains.later_labels
        generator = torch.Generator().manual_seed(seed)
        weights = torch.ones(10)
        if skewed:
            weights = -torch.rand(10, generator=generator).log()
        chosen = torch.multinomial(weights[labels], n, generator=generator)
        new = self.compared(images[chosen], z[chosen], p[chosen])
        says = self._verdict(new, seed)
        is_named = says.kind == "new" if name is None else says.nearest == name
        if not self.reserve:
            return Found(says, is_named and says.is_new == (name is None))
        shown = p[chosen]
        expected = expected_accuracy(reserve=self.reserve, probabilities=shown)
        true = measured_accuracy(probabilities=shown, labels=labels[chosen]).value
        of_kind = _weighted_accuracy(p, labels, weights)
        return Found(
            says,
            is_named and says.is_new == (name is None),
            100 * (expected.value - true),
            expected.low <= of_kind <= expected.high,
        )

    def _later(self, angle: float) -> tuple[Tensor, Tensor, Tensor]:
        """All images that come later, with their embeddings and probabilities."""
        if angle not in self._outputs:
            images = self.domains.later(angle)
            self._outputs[angle] = images, *self.learned.outputs(images)
        return self._outputs[angle]

    def _verdict(self, new: Compared, seed: int) -> Verdict:
        def test(known: list[Compared]) -> Any:
            return two_sample_test(
                known=torch.cat([each.features for each in known]),
                new=new.features,
                known_classes=torch.cat([each.classes for each in known]),
                new_classes=new.classes,
                seed=seed,
            )

        tests = {
            name: test([known])
            for name, known in zip(self.names, self.known, strict=True)
        }
        found = verdict(tests=tests)
        # A mix only matters to samples that are like no single domain.
        return verdict(tests=tests, mix=test(self.known)) if found.is_new else found


def _weighted_accuracy(p: Tensor, labels: Tensor, weights: Tensor) -> float:
    right = (p.argmax(dim=1) == labels).float()
    of_each = weights[labels]
    return float((of_each * right).sum() / of_each.sum())


def drift(
    *,
    root: str,
    seed: int,
    sizes: tuple[int, ...],
    draws: int,
    n_domains: int,
    images: int,
    reserve: int,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Learn, draw samples of every kind and size, and judge them.

    :param root: folder with MNIST.
    :param seed: of data, weights and draws.
    :param sizes: numbers of samples.
    :param draws: of each kind and size; known ones are of all domains in turn.
    :param n_domains: domains to learn.
    :param images: to learn of each.
    :param reserve: of each; with 0 the inputs in memory are compared.
    :return: a title and a table, by number of samples.
    """
    angles = [STEP * i for i in range(n_domains)]
    domains = rotations(root, angles=angles, images=images, reserve=reserve, seed=seed)
    learned = list(learn("UDIL", domains, seed=seed))[-1]
    inspected = Inspected(learned, domains)
    for n in sizes:
        found: dict[str, list[Found]] = {KNOWN: [], SKEWED: [], NEW: []}
        for draw in track(range(draws), description=f"{n} samples", transient=True):
            i, of_draw = draw % n_domains, 10_000 * seed + draw
            known = angles[i], inspected.names[i], n, of_draw
            found[KNOWN].append(inspected.inspect(*known))
            found[SKEWED].append(inspected.inspect(*known, skewed=True))
            new = angles[-1] + FURTHER, None, n, of_draw
            found[NEW].append(inspected.inspect(*new))
        yield f"{n} samples", {kind: _row(each) for kind, each in found.items()}


def _row(found: list[Found]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "draws": len(found),
        "called new": sum(each.says.is_new for each in found),
        "unclear": sum(each.says.kind == "unclear" for each in found),
        "right": sum(each.is_named for each in found),
    }
    errors = [each.error for each in found if each.error is not None]
    if errors:
        row["off by"] = fmean(map(abs, errors))
        row["bias"] = fmean(errors)
        row["in interval"] = sum(bool(each.is_inside) for each in found)
    return row


def main(arguments: list[str] | None = None) -> None:
    """Measure and show tables.

    :param arguments: the command line; that of the process by default.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench.drift",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", default="data", help="folder with MNIST")
    parser.add_argument("--seed", type=int, default=0, help="from 100 on: for choosing")
    parser.add_argument("--draws", type=int, default=20, help="of each kind and size")
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 200, 1000])
    parser.add_argument("--domains", type=int, default=4, help="domains to learn")
    parser.add_argument("--images", type=int, default=4000, help="to learn of each")
    parser.add_argument("--reserve", type=int, default=200, help="of each; 0: inputs")
    given = parser.parse_args(arguments)
    tables = drift(
        root=given.data,
        seed=given.seed,
        sizes=tuple(given.sizes),
        draws=given.draws,
        n_domains=given.domains,
        images=given.images,
        reserve=given.reserve,
    )
    for title, table in tables:
        show(title, table, Console())


if __name__ == "__main__":
    main()


__all__ = ["drift", "main"]
