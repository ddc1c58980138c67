"""Pictures of an evaluation. Matplotlib is loaded when the first one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from udil_avalanche.learner.calibration import (
    ReliabilityBin,
    class_accuracies,
    expected_calibration_error,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_NUMBERED_CLASSES = 20
_MOST_NAMED_CLASSES = 40


def plot_evaluation(
    *,
    confusion: Tensor,
    bins: Sequence[ReliabilityBin],
    class_names: Sequence[str],
    title: str,
) -> Figure:
    """The confusion matrix, the accuracy of each class with its interval, and the
    reliability diagram, side by side.

    :param confusion: see :func:`~udil_avalanche.learner.calibration.confusion_matrix`.
    :param bins: see :func:`~udil_avalanche.learner.calibration.reliability_bins`.
    :param class_names: of all classes.
    :param title: what was evaluated.
    """
    from udil_avalanche.evaluation.plots import new_figure

    if len(class_names) != len(confusion):
        raise ValueError(
            f"{len(class_names)} names for the {len(confusion)} classes of the "
            "confusion matrix."
        )
    fig = new_figure(15, 5)
    fig.suptitle(title)
    matrix, classes, reliability = fig.subplots(1, 3)
    _draw_confusion(fig, matrix, confusion, class_names)
    _draw_classes(classes, confusion, class_names)
    _draw_reliability(reliability, bins)
    return fig


def _draw_confusion(
    fig: Figure, ax: Axes, confusion: Tensor, class_names: Sequence[str]
) -> None:
    """Percent of each true class; a class without a sample stays blank."""
    counts = confusion.double().numpy()
    totals = counts.sum(axis=1, keepdims=True)
    percent = 100 * counts / np.where(totals > 0, totals, np.nan)
    image = ax.imshow(percent, cmap="viridis", vmin=0, vmax=100)
    ax.set(title="Confusion matrix", xlabel="predicted class", ylabel="true class")
    ticks = _ticks(len(class_names))
    names = [class_names[k] for k in ticks]
    ax.set_xticks(ticks, names, rotation=90 if max(map(len, names)) > 2 else 0)
    ax.set_yticks(ticks, names)
    fig.colorbar(image, ax=ax, label="samples of the true class (%)", pad=0.02)
    if len(class_names) <= _MOST_NUMBERED_CLASSES:
        for (row, column), count in np.ndenumerate(counts):
            if count:
                color = "black" if percent[row, column] > 60 else "white"
                ax.text(
                    column,
                    row,
                    f"{count:.0f}",
                    color=color,
                    ha="center",
                    va="center",
                    fontsize=8,
                )


def _draw_classes(ax: Axes, confusion: Tensor, class_names: Sequence[str]) -> None:
    shares = class_accuracies(confusion)
    known = [k for k, share in enumerate(shares) if share.n]
    values = np.array([100 * shares[k].value for k in known])
    low = values - [100 * shares[k].low for k in known]
    high = np.array([100 * shares[k].high for k in known]) - values
    ax.errorbar(values, known, xerr=[low, high], fmt="o", color="#3b528b", capsize=2)
    ax.set(
        title="Accuracy of each class",
        xlabel="accuracy (%), 95 % interval",
        xlim=(-2, 102),
        ylim=(len(class_names) - 0.5, -0.5),
    )
    ticks = _ticks(len(class_names))
    ax.set_yticks(ticks, [class_names[k] for k in ticks])
    ax.grid(alpha=0.25)


def _draw_reliability(ax: Axes, bins: Sequence[ReliabilityBin]) -> None:
    filled = [each for each in bins if each.accuracy.n]
    values = np.array([each.accuracy.value for each in filled])
    low = values - [each.accuracy.low for each in filled]
    high = np.array([each.accuracy.high for each in filled]) - values
    ax.plot([0, 1], [0, 1], ":", color="gray", label="right as often as it is sure")
    ax.errorbar(
        [each.confidence for each in filled],
        values,
        yerr=[low, high],
        fmt="o-",
        color="#3b528b",
        capsize=2,
        label="this model, 95 % interval",
    )
    error = expected_calibration_error(list(bins))
    ax.set(
        title=f"Calibration: expected error {100 * error:.1f} points",
        xlabel="confidence",
        ylabel="accuracy",
        xlim=(0, 1.02),
        ylim=(0, 1.02),
    )
    ax.grid(alpha=0.25)
    ax.legend(loc="upper left")


def _ticks(n_classes: int) -> range:
    return range(0, n_classes, -(-n_classes // _MOST_NAMED_CLASSES))
