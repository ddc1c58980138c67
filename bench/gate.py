"""Whether the gate lets harmless updates pass and catches harmful ones:
``python -m bench.gate``.

Streams of rotated digits are learned domain by domain. Every update is judged as
``update --max-drop`` judges it: by the reserves of the old domains, before and after.
Harmless are the updates of UDIL, 9 degrees at a time; harmful are those of Fine-tune,
30 degrees at a time. What an update really costs is measured on thousands of images
that the gate does not see.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.progress import track
from torch import Tensor

from bench.learned_rotations import Learned, Rotations, learn, rotations
from bench.report import show
from udil_avalanche.learner.paired_change import drops_more_than, paired_change

CASES = {
    "harmless (UDIL, 9°)": ("UDIL", 9.0),
    "harmful (Fine-tune, 30°)": ("Fine-tune", 30.0),
}
"""The strategy, and the degrees from one domain to the next."""
CLEAR_HARM = 0.05
"""Five points more than allowed are a loss that nobody would want to miss."""


@dataclass(frozen=True)
class Judged:
    """An update.

    :param is_stopped: whether the gate stops it.
    :param cost: the largest true drop of the accuracy on an old domain, as a share.
    """

    is_stopped: bool
    cost: float


def judged_updates(
    name: str, domains: Rotations, *, max_drop: float, seed: int
) -> Iterator[Judged]:
    """Learn the domains and judge each update.

    :param name: of the strategy.
    :param domains: what to learn.
    :param max_drop: the drop that is allowed, as a share.
    :param seed: of the weights and batches.
    """
    later = [domains.later(angle) for angle in domains.angles[:-1]]
    before: tuple[list[Tensor], list[float]] | None = None
    for t, learned in enumerate(learn(name, domains, seed=seed)):
        right = [_right(learned, images, y) for images, y in domains.reserve]
        true = [
            float(_right(learned, images, domains.later_labels).float().mean())
            for images in later[: t + 1]
        ]
        if before is not None:
            changes = {
                str(i): paired_change(right_before=before[0][i], right_after=right[i])
                for i in range(t)
            }
            yield Judged(
                bool(drops_more_than(max_drop, changes=changes)),
                max(before[1][i] - true[i] for i in range(t)),
            )
        before = right, true


def _right(learned: Learned, images: Tensor, labels: Tensor) -> Tensor:
    return learned.outputs(images)[1].argmax(dim=1) == labels


def gate(
    *, root: str, seed: int, streams: int, n_domains: int, images: int, max_drop: float
) -> dict[str, dict[str, Any]]:
    """Judge the updates of several streams.

    :param root: folder with MNIST.
    :param seed: of the first stream; the others have the seeds after it.
    :param streams: streams of each kind.
    :param n_domains: of each stream; one update less.
    :param images: to learn of each domain.
    :param max_drop: the drop that is allowed, as a share.
    :return: a row of counts for each kind.
    """
    rows = {}
    for title, (name, step) in CASES.items():
        found: list[Judged] = []
        angles = [step * i for i in range(n_domains)]
        for each in track(range(seed, seed + streams), title, transient=True):
            domains = rotations(
                root, angles=angles, images=images, reserve=200, seed=each
            )
            found += judged_updates(name, domains, max_drop=max_drop, seed=each)
        within = [each for each in found if each.cost <= max_drop]
        clear = [each for each in found if each.cost > max_drop + CLEAR_HARM]
        rows[title] = {
            "updates": len(found),
            "stopped": sum(each.is_stopped for each in found),
            "cost, points": 100 * fmean(each.cost for each in found),
            "within max-drop": len(within),
            "of these stopped": sum(each.is_stopped for each in within),
            "5 points above": len(clear),
            "of these stopped ": sum(each.is_stopped for each in clear),
        }
    return rows


def main(arguments: list[str] | None = None) -> None:
    """Measure and show a table.

    :param arguments: the command line; that of the process by default.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench.gate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", default="data", help="folder with MNIST")
    parser.add_argument("--seed", type=int, default=0, help="from 100 on: for choosing")
    parser.add_argument("--streams", type=int, default=5, help="streams of each kind")
    parser.add_argument("--domains", type=int, default=5, help="domains of a stream")
    parser.add_argument("--images", type=int, default=3000, help="to learn of each")
    parser.add_argument("--max-drop", type=float, default=1.0, help="points")
    given = parser.parse_args(arguments)
    rows = gate(
        root=given.data,
        seed=given.seed,
        streams=given.streams,
        n_domains=given.domains,
        images=given.images,
        max_drop=given.max_drop / 100,
    )
    show(f"the gate, max-drop {given.max_drop:g} points", rows, Console())


if __name__ == "__main__":
    main()


__all__ = ["gate", "main"]
