"""Pictures of the bound: what it is made of, and how it compares with the truth."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from udil_avalanche.evaluation.plots import domain_ticks, new_figure, show_matrix

Bounds = Sequence[Mapping[str, Any]]
"""For each domain t = 2, ..., T what
:func:`~udil_avalanche.theory.bound_record.bound_record` returns."""


def plot_divergence_and_beta(bounds: Bounds, betas: Sequence[npt.ArrayLike]) -> Figure:
    """The measured divergence of each past domain from the one that is learned, beside
    the coefficient beta that answers to it.

    :param bounds: the bounds at the end of the domains.
    :param betas: for each domain t = 2, ..., T the beta_i of the past domains.
    :return: the figure.
    """
    size = len(bounds)
    fig = new_figure(9.5, 4.4)
    panels = fig.subplots(1, 2, sharey=True)
    shown = (
        ("measured divergence", 2.0, [each["divergence"] for each in bounds]),
        (r"$\beta_i$: weight of the cross-domain bound", 1.0, betas),
    )
    for panel, (title, highest, columns) in zip(panels, shown, strict=True):
        values = np.full((size, size), np.nan)
        for t, column in enumerate(columns):
            values[: t + 1, t] = np.asarray(column, dtype=np.float64)
        image = show_matrix(panel, values, highest=highest, first_column=2)
        panel.set_title(title, fontsize="medium")
        panel.set_xlabel("domain $t$ being learned")
        panel.set_xticks(domain_ticks(2, size + 1, most=10))
        fig.colorbar(image, ax=panel, pad=0.02)
    panels[0].set_ylabel("past domain $i$")
    panels[0].set_yticks(domain_ticks(1, size, most=10))
    return fig


def plot_bound(bounds: Bounds, R: npt.ArrayLike) -> Figure:
    """Theorem 3.4's right-hand side at the end of each domain, for Omega as it is and
    for the coefficients of other methods, beside the true error on the test data. All
    are averages over the domains so far.

    :param bounds: the bounds at the end of the domains.
    :param R: the accuracy matrix in percent, row = after this domain.
    :return: the figure.
    """
    accuracies = np.asarray(R, dtype=np.float64)
    domains = np.arange(2, len(bounds) + 2)
    truth = [1 - accuracies[t - 1, :t].mean() / 100 for t in domains]
    fig = new_figure(7.5, 4.6)
    ax = fig.subplots()
    for name in bounds[0]["with"]:
        values = [each["with"][name] for each in bounds] / domains
        ax.plot(domains, values, lw=1, alpha=0.8, label=f"bound, Omega of {name}")
    own = [each["bound"] for each in bounds] / domains
    ax.plot(domains, own, color="black", lw=2.5, label="bound, UDIL's Omega")
    if bounds[0]["tightest"] is not None:
        tightest = [each["tightest"] for each in bounds] / domains
        ax.plot(domains, tightest, "k:", lw=1.5, label="tightest bound (corollary)")
    ax.plot(domains, truth, "o-", color="crimson", lw=2, label="true error")
    ax.set(
        xlabel="domains learned", ylabel="error, average over domains", ylim=(0, None)
    )
    ax.set_xticks(domain_ticks(2, len(bounds) + 1))
    ax.grid(alpha=0.25)
    fig.legend(loc="outside lower center", fontsize="small", ncols=3)
    return fig
