"""The pictures of the bound show the numbers that they are given."""

import numpy as np
import pytest
import torch

from udil_avalanche.evaluation.bound_plots import plot_bound, plot_divergence_and_beta
from udil_avalanche.evaluation.plots import figure_to_image
from udil_avalanche.theory.bound import BoundEstimates
from udil_avalanche.theory.bound_record import bound_record
from udil_avalanche.theory.coefficients import softmax_coefficients
from udil_avalanche.theory.unification import PRESETS


def estimates(n_past):
    return BoundEstimates(
        current_error=torch.rand(()),
        past_error=torch.rand(n_past),
        current_disagreement=torch.rand(()),
        past_disagreement=torch.rand(n_past),
        divergence=2 * torch.rand(n_past),
        history_error=torch.rand(n_past),
        n_current=1000,
        n_memory=torch.randint(10, 50, (n_past,)),
    )


def trajectory(domains, c=3.0):
    """The records and the betas of domains 2, 3, ..."""
    omegas = [
        softmax_coefficients(torch.randn(t - 1, 3)) for t in range(2, domains + 1)
    ]
    bounds = [bound_record(omega, estimates(len(omega.beta)), c) for omega in omegas]
    return bounds, [omega.beta.numpy() for omega in omegas]


def matrix(domains):
    return np.random.default_rng(0).uniform(0, 100, (domains, domains))


def shown_lines(fig):
    return {line.get_label(): line for line in fig.axes[0].lines}


def test_divergence_and_beta_are_at_their_places():
    bounds, betas = trajectory(4)
    fig = plot_divergence_and_beta(bounds, betas)
    divergences = [each["divergence"] for each in bounds]
    for panel, columns, highest in zip(
        fig.axes, (divergences, betas), (2, 1), strict=False
    ):
        [image] = panel.images
        assert list(image.get_extent()) == [1.5, 4.5, 3.5, 0.5]
        assert (image.norm.vmin, image.norm.vmax) == (0, highest)
        values = image.get_array().filled(np.nan)
        for t in (2, 3, 4):
            for i in (1, 2, 3):
                shown = values[i - 1, t - 2]
                if i < t:
                    assert shown == columns[t - 2][i - 1]
                else:
                    assert np.isnan(shown)
    left, right = fig.axes[:2]
    assert left.get_title() == "measured divergence"
    assert "beta" in right.get_title()


def test_the_bounds_and_the_true_error_are_averages_over_the_domains_so_far():
    bounds, _ = trajectory(4)
    R = matrix(4)
    lines = shown_lines(plot_bound(bounds, R))
    expected = {
        "bound, UDIL's Omega": [each["bound"] / t for t, each in enumerate(bounds, 2)],
        "tightest bound (corollary)": [
            each["tightest"] / t for t, each in enumerate(bounds, 2)
        ],
        "true error": [
            sum(1 - R[t - 1, j] / 100 for j in range(t)) / t for t in (2, 3, 4)
        ],
    }
    for name in PRESETS:
        expected[f"bound, Omega of {name}"] = [
            each["with"][name] / t for t, each in enumerate(bounds, 2)
        ]
    assert lines.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(lines[name].get_xdata(), [2, 3, 4])
        np.testing.assert_allclose(lines[name].get_ydata(), values)


def test_without_c_there_is_no_tightest_bound_to_show():
    bounds, _ = trajectory(3, c=0.0)
    lines = shown_lines(plot_bound(bounds, matrix(3)))
    assert "bound, UDIL's Omega" in lines
    assert "tightest bound (corollary)" not in lines


def test_a_matrix_that_goes_on_is_read_only_up_to_the_domain():
    """Cells above the diagonal are those of domains to come, often not tested."""
    bounds, _ = trajectory(3)
    R = matrix(3)
    whole = shown_lines(plot_bound(bounds, R))["true error"].get_ydata()
    R[np.triu_indices(3, k=1)] = np.nan
    np.testing.assert_array_equal(
        shown_lines(plot_bound(bounds, R))["true error"].get_ydata(), whole
    )


@pytest.mark.parametrize("domains", [2, 40])
def test_few_and_many_domains_can_be_drawn(domains):
    bounds, betas = trajectory(domains)
    for fig in (
        plot_divergence_and_beta(bounds, betas),
        plot_bound(bounds, matrix(domains)),
    ):
        assert figure_to_image(fig).size[0] > 300
