"""The picture of an evaluation shows what was measured."""

import subprocess
import sys

import pytest
import torch

from udil_avalanche.evaluation.plots import figure_to_image
from udil_avalanche.learner.calibration import confusion_matrix, reliability_bins
from udil_avalanche.learner.evaluation_picture import plot_evaluation

STATISTICS = [
    "calibration",
    "evaluation_picture",
    "expected_accuracy",
    "paired_change",
    "risk",
    "two_sample",
    "verdict",
]


def drawn(n_classes, n=200, missing=None):
    labels = torch.randint(n_classes, (n,))
    if missing is not None:
        labels[labels == missing] = (missing + 1) % n_classes
    x = torch.randn(n, n_classes) + 2 * torch.eye(n_classes)[labels]
    probabilities = x.softmax(dim=1)
    confusion = confusion_matrix(
        predicted=probabilities.argmax(dim=1), labels=labels, n_classes=n_classes
    )
    bins = reliability_bins(probabilities=probabilities, labels=labels)
    names = [f"class {k}" for k in range(n_classes)]
    fig = plot_evaluation(
        confusion=confusion, bins=bins, class_names=names, title="domain spring"
    )
    return fig, confusion, bins


def test_cells_hold_the_counts():
    fig, confusion, _ = drawn(4)
    ax = fig.axes[0]
    counts = {
        tuple(int(v) for v in text.get_position()): text.get_text() for text in ax.texts
    }
    for row in range(4):
        for column in range(4):
            expected = int(confusion[row, column])
            assert counts.get((column, row), "0") == str(expected)
    assert ax.get_yticklabels()[0].get_text() == "class 0"


def test_points_are_at_their_accuracies_and_confidences():
    fig, confusion, bins = drawn(4)
    by_class = fig.axes[1].lines[0]
    shares = 100 * confusion.diagonal() / confusion.sum(dim=1)
    assert by_class.get_xdata().tolist() == pytest.approx(shares.tolist(), rel=1e-5)
    points = fig.axes[2].lines[1]
    filled = [each for each in bins if each.accuracy.n]
    assert points.get_xdata().tolist() == [each.confidence for each in filled]
    assert points.get_ydata().tolist() == [each.accuracy.value for each in filled]
    assert "expected error" in fig.axes[2].get_title()


@pytest.mark.parametrize(("n_classes", "missing"), [(2, None), (5, 1), (60, 3)])
def test_any_number_of_classes_can_be_drawn(n_classes, missing):
    fig, *_ = drawn(n_classes, missing=missing)
    assert figure_to_image(fig).size[0] > 1000
    assert len(fig.axes[0].get_yticks()) <= 40
    assert bool(fig.axes[0].texts) == (n_classes <= 20)


def test_names_have_to_fit():
    _, confusion, bins = drawn(3)
    with pytest.raises(ValueError, match="2 names for the 3 classes"):
        plot_evaluation(
            confusion=confusion, bins=bins, class_names=["a", "b"], title=""
        )


def test_the_statistics_load_neither_avalanche_nor_matplotlib():
    imports = ", ".join(f"udil_avalanche.learner.{each}" for each in STATISTICS)
    code = (
        f"import sys, {imports};"
        "print({'avalanche', 'matplotlib', 'scipy', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
