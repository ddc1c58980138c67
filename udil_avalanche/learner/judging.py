"""What an update has done to every domain, on samples that were never trained on."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from udil_avalanche.learner.paired_change import (
    PairedChange,
    changes_of_classes,
    classes_that_lost,
    drops_more_than,
    paired_change,
)
from udil_avalanche.learner.predictor import Predictor
from udil_avalanche.learner.version import Version


def judged(
    before: Version | None, after: Version, device: str = "cpu"
) -> dict[str, Any]:
    """The accuracy of every domain before and after an update, on its reserve.

    :param before: the version that was updated, if there was one.
    :param after: the new version.
    :param device: where to compute.
    :return: for every domain its ``n`` samples in reserve, and in percent ``before``,
        ``after``, and ``low`` and ``high``, a paired interval of the change in points;
        ``lost``, the classes that lost beyond chance. What cannot be known is null.
    """
    old = None if before is None else Predictor.of(before, device)
    new = Predictor.of(after, device)
    changes: dict[str, Any] = {}
    for name in after.record.names:
        reserve = after.reserves.get(name)
        if reserve is None:
            changes[name] = {"n": 0, "before": None, "after": None}
            continue
        right_after = _right(new, reserve.inputs, reserve.labels)
        found: dict[str, Any] = {
            "n": len(reserve),
            "before": None,
            "after": 100 * right_after.double().mean().item(),
        }
        if old is not None:
            right_before = _right(old, reserve.inputs, reserve.labels)
            change = paired_change(right_before=right_before, right_after=right_after)
            low, high = change.interval()
            of_classes = changes_of_classes(
                right_before=right_before,
                right_after=right_after,
                labels=reserve.labels,
            )
            found |= {
                "before": 100 * change.before,
                "low": 100 * low,
                "high": 100 * high,
                "lost": [
                    after.record.classes[label]
                    for label in classes_that_lost(of_classes)
                ],
                "counts": vars(change),
            }
        changes[name] = found
    return changes


def objection(
    changes: Mapping[str, Any], domain: str, max_drop: float | None
) -> str | None:
    """Why an update should not be used, if it costs an old domain too much.

    :param changes: what :func:`judged` returned.
    :param domain: the domain that was learned, which is not an old one.
    :param max_drop: points that an old domain may lose; ``None`` for any number.
    """
    if max_drop is None:
        return None
    old = {
        name: PairedChange(**change["counts"])
        for name, change in changes.items()
        if name != domain and "counts" in change
    }
    dropped = drops_more_than(max_drop / 100, changes=old)
    if not dropped:
        return None
    parts = [f"{name} {-100 * old[name].change:.1f}" for name in dropped]
    return (
        f"{' and '.join(parts)} points: more than {max_drop:g}, and more than chance "
        "explains"
    )


def _right(predictor: Predictor, inputs: Tensor, labels: Tensor) -> Tensor:
    return predictor.logits(inputs).argmax(dim=1) == labels
