import itertools
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

from udil_avalanche.evaluation.formulas import average_accuracy
from udil_avalanche.evaluation.plots import (
    between_tests,
    figure_to_image,
    plot_accuracy_matrix,
    plot_accuracy_per_domain,
    plot_coefficients,
    save_figure,
)


def accuracy_matrix(domains):
    return np.random.default_rng(domains).uniform(0, 100, (domains, domains))


def coefficient_history(domains):
    rng = np.random.default_rng(domains)
    return [rng.dirichlet(np.ones(3), size=t - 1) for t in range(2, domains + 1)]


def cell_texts(fig):
    return {
        (round(text.get_position()[1]), round(text.get_position()[0])): text.get_text()
        for text in fig.axes[0].texts
    }


def outside_the_canvas(fig):
    """Titles and labels that the picture cuts off."""
    frame = fig.bbox
    cut = []
    for ax in fig.axes:
        for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
            box = text.get_window_extent()
            if text.get_text() and not (
                frame.x0 <= box.x0 <= box.x1 <= frame.x1
                and frame.y0 <= box.y0 <= box.y1 <= frame.y1
            ):
                cut.append(text.get_text())
    return cut


def overlapping_ticks(fig):
    clashes = []
    for ax in fig.axes:
        for axis in (ax.xaxis, ax.yaxis):
            boxes = [
                label.get_window_extent()
                for label in axis.get_ticklabels()
                if label.get_visible() and label.get_text()
            ]
            clashes += [(a, b) for a, b in itertools.pairwise(boxes) if a.overlaps(b)]
    return clashes


@pytest.mark.parametrize("domains", [1, 5, 20, 40])
def test_nothing_is_cut_off_or_overlaps(domains):
    figures = [
        plot_accuracy_matrix(accuracy_matrix(domains)),
        plot_accuracy_per_domain(accuracy_matrix(domains)),
    ]
    if domains > 1:
        figures.append(plot_coefficients(coefficient_history(domains)))
    for fig in figures:
        figure_to_image(fig)
        assert outside_the_canvas(fig) == []
        assert overlapping_ticks(fig) == []


def test_matrix_shows_each_accuracy_at_its_place():
    texts = cell_texts(plot_accuracy_matrix([[91.25, 40.0], [np.nan, 88.0]]))
    assert texts == {(1, 1): "91.2", (1, 2): "40.0", (2, 2): "88.0"}


def test_matrix_colors_cells_by_accuracy_and_leaves_gaps_blank():
    fig = plot_accuracy_matrix([[100.0, 0.0], [np.nan, 50.0]])
    [image] = fig.axes[0].images
    colors = image.to_rgba(image.get_array())
    assert to_hex(colors[0, 0]) == "#fde725"
    assert to_hex(colors[0, 1]) == "#440154"
    assert colors[1, 0, 3] == 0


@pytest.mark.parametrize(("domains", "annotated"), [(20, True), (21, False)])
def test_matrix_is_annotated_up_to_twenty_domains(domains, annotated):
    texts = cell_texts(plot_accuracy_matrix(accuracy_matrix(domains)))
    assert len(texts) == (domains**2 if annotated else 0)


def test_annotations_fit_into_their_cells():
    fig = plot_accuracy_matrix(np.full((20, 20), 100.0))
    figure_to_image(fig)
    ax = fig.axes[0]
    cell_width = np.ptp(ax.transData.transform([(1, 1), (2, 1)])[:, 0])
    assert all(text.get_window_extent().width < cell_width for text in ax.texts)


def test_lines_follow_the_columns_and_the_average():
    R = accuracy_matrix(4)
    ax = plot_accuracy_per_domain(R).axes[0]
    [average] = [line for line in ax.lines if line.get_color() == "black"]
    np.testing.assert_array_equal(average.get_xdata(), [1, 2, 3, 4])
    np.testing.assert_allclose(
        average.get_ydata(), [average_accuracy(R, t) for t in (1, 2, 3, 4)]
    )
    learned = [
        line for line in ax.lines if line.get_ls() == "-" and line is not average
    ]
    assert len(learned) == 4
    for j, line in enumerate(learned):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(j + 1, 5))
        np.testing.assert_array_equal(line.get_ydata(), R[j:, j])
    before = [
        line for line in ax.lines if line.get_ls() == ":" and len(line.get_xdata())
    ]
    for j, line in enumerate(before):
        np.testing.assert_array_equal(line.get_ydata(), R[: j + 1, j])


def test_unfinished_run_can_be_drawn():
    R = accuracy_matrix(5)
    R[2:] = np.nan
    R[np.triu_indices(5, k=1)] = np.nan
    for plot in (plot_accuracy_matrix, plot_accuracy_per_domain):
        assert figure_to_image(plot(R)).size[0] > 300
        assert figure_to_image(plot(R[:2])).size[0] > 300


def thinned_matrix(domains, every):
    """Tests of all domains after every so many, else of the newest and the next."""
    R = accuracy_matrix(domains)
    R[np.triu_indices(domains, k=2)] = np.nan
    for t in range(domains - 1):
        if (t + 1) % every:
            R[t, :t] = np.nan
    return R


def test_lines_go_on_between_tests_that_are_far_apart():
    R = thinned_matrix(40, every=10)
    ax = plot_accuracy_per_domain(R).axes[0]
    [average] = [line for line in ax.lines if line.get_color() == "black"]
    assert average.get_xdata().tolist() == [1, 10, 20, 30, 40]
    assert all(not np.isnan(line.get_ydata()).any() for line in ax.lines)


def test_rows_between_two_tests_show_the_next_one():
    R = thinned_matrix(40, every=10)
    shown = between_tests(R)
    np.testing.assert_array_equal(shown[10, :10], R[19, :10])
    np.testing.assert_array_equal(shown[[9, 19, 39]], R[[9, 19, 39]])
    assert shown[10, 10] == R[10, 10]
    lower = np.tril_indices(40)
    assert not np.isnan(shown[lower]).any()
    assert np.isnan(shown[np.triu_indices(40, k=2)]).all()


def test_a_matrix_that_was_tested_often_is_shown_as_it_is():
    R = accuracy_matrix(5)
    R[2:] = np.nan
    np.testing.assert_array_equal(between_tests(R), R)
    joint = accuracy_matrix(5)
    joint[:4] = np.nan
    np.testing.assert_array_equal(between_tests(joint), joint)


def test_joint_training_is_a_row_of_points():
    R = accuracy_matrix(4)
    R[:3] = np.nan
    ax = plot_accuracy_per_domain(R).axes[0]
    marked = [line for line in ax.lines if line.get_marker() == "o"]
    at = [
        [line.get_ydata()[place] for place in line.get_markevery() or [-1]]
        for line in marked
    ]
    np.testing.assert_allclose(at, [*R[3][:, None], [R[3].mean()]])


def test_coefficients_are_at_their_place():
    history = coefficient_history(4)
    fig = plot_coefficients(history)
    panels = fig.axes[:3]
    for k, panel in enumerate(panels):
        [image] = panel.images
        left, right, bottom, top = image.get_extent()
        assert (left, right, bottom, top) == (1.5, 4.5, 3.5, 0.5)
        values = image.get_array().filled(np.nan)
        for t in (2, 3, 4):
            for i in (1, 2, 3):
                shown = values[i - 1, t - 2]
                if i < t:
                    assert shown == history[t - 2][i - 1, k]
                else:
                    assert np.isnan(shown)
        assert (image.norm.vmin, image.norm.vmax) == (0, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_accuracy_matrix([]), r"its shape is \(0,\)"),
        (lambda: plot_accuracy_per_domain([1.0, 2.0]), "two dimensions"),
        (lambda: plot_coefficients([]), "starts with domain 2"),
        (
            lambda: plot_coefficients([np.ones((1, 3)), np.ones((1, 3))]),
            r"domain 3 have shape \(1, 3\).*need \(2, 3\)",
        ),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_image_is_the_figure_in_rgb():
    fig = Figure(figsize=(3, 2), dpi=100, facecolor="red")
    image = figure_to_image(fig)
    assert (image.mode, image.size) == ("RGB", (300, 200))
    assert image.getpixel((5, 5)) == (255, 0, 0)


def test_saved_at_120_dpi_into_a_new_folder(tmp_path):
    path = tmp_path / "new" / "picture.png"
    save_figure(Figure(figsize=(3, 2)), path)
    with Image.open(path) as image:
        assert image.size == (360, 240)
    assert [p.name for p in path.parent.iterdir()] == ["picture.png"]


def test_ending_names_the_format(tmp_path):
    save_figure(plot_accuracy_matrix(accuracy_matrix(2)), tmp_path / "picture.pdf")
    assert (tmp_path / "picture.pdf").read_bytes().startswith(b"%PDF")


def test_a_reader_of_the_old_file_is_not_disturbed(tmp_path):
    path = tmp_path / "picture.png"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        save_figure(Figure(), path)
        assert reader.read() == b"old"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_failed_save_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "picture.png"
    path.write_bytes(b"old")
    fig = Figure()
    fig.text(0.5, 0.5, r"$\no_such_command$")
    with pytest.raises(ValueError, match="no_such_command"):
        save_figure(fig, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_needs_no_pyplot():
    code = (
        "import sys, udil_avalanche.evaluation.plots;"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"
