"""Pictures of the bound: what it is made of, and how it compares with the truth."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from udil_avalanche.evaluation.plots import domain_ticks, new_figure, show_past_domains

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
    fig = new_figure(9.5, 4.4)
    divergences = [each["divergence"] for each in bounds]
    weights = r"$\beta_i$: weight of the cross-domain bound"
    shown = [("measured divergence", 2.0, divergences), (weights, 1.0, betas)]
    for image in show_past_domains(fig, shown):
        fig.colorbar(image, ax=image.axes, pad=0.02)
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
