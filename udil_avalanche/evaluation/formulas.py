"""The paper's metrics, one function per equation of its appendix on evaluation.

All of them read an accuracy matrix ``R``: row ``i`` holds the accuracies after
training on domain ``i``, column ``j`` those measured on domain ``j``. Percent and
fractions both work; the result has the unit of the input. ``R`` is an ordinary
0-based array, but every domain number that is passed in counts from 1, as in the
paper: ``average_accuracy(R, 1)`` reads ``R[0][0]``. ``R`` may be incomplete: rows
and columns beyond the domains asked for are never read, and NaN marks an accuracy
that was not measured.
"""

import numpy as np
import numpy.typing as npt


def average_accuracy(R: npt.ArrayLike, t: int) -> float:
    r"""Average accuracy :math:`A_t = \frac{1}{t} \sum_{i=1}^{t} R_{t,i}`.

    All domains have the same weight, whatever the number of their samples. Domains
    after ``t`` are not included.

    :param R: accuracy matrix.
    :param t: number of the domain just learned, from 1.
    :return: the average, NaN if one of its accuracies was not measured.
    """
    accuracies = checked_matrix(R, rows=t, columns=t)
    return float(accuracies[t - 1, :t].mean())


def average_of_average_accuracy(R: npt.ArrayLike, t1: int, t2: int) -> float:
    r"""Average :math:`A_{t_1:t_2}` of :math:`A_{t_1}, \dots, A_{t_2}`, both included.

    :param R: accuracy matrix.
    :param t1: number of the first domain, from 1.
    :param t2: number of the last domain, at least ``t1``.
    :return: the average, NaN if one of its accuracies was not measured.
    """
    if t1 > t2:
        raise ValueError(f"The range of domains {t1}:{t2} is empty; give t1 <= t2.")
    return float(np.mean([average_accuracy(R, t) for t in range(t1, t2 + 1)]))


def forgetting(R: npt.ArrayLike, t: int) -> float:
    r"""Average forgetting :math:`F_t = \frac{1}{t-1} \sum_{j=1}^{t-1} f_t(j)`.

    :math:`f_t(j) = \max_{l \in [t-1]} \{R_{l,j} - R_{t,j}\}` is the drop from the
    best accuracy on domain ``j`` after *any* earlier domain, even before ``j`` itself
    was learned. Avalanche's forgetting is different: the drop from :math:`R_{j,j}`,
    the accuracy right after learning ``j``, which is never larger.

    Runs that evaluate only the domains seen so far have no accuracies above the
    diagonal; the maximum is then taken over the others. A gap on or below the
    diagonal could hide the maximum itself and gives NaN.

    :param R: accuracy matrix.
    :param t: number of the domain just learned, from 1.
    :return: the average; NaN for ``t = 1``, where there is nothing to forget yet:
        a series over all ``t`` then starts with a gap.
    """
    accuracies = checked_matrix(R, rows=t, columns=t)
    if t == 1:
        return float("nan")
    earlier = accuracies[: t - 1, : t - 1]
    above_diagonal = np.triu(np.ones_like(earlier, dtype=bool), k=1)
    never_the_best = above_diagonal & np.isnan(earlier)
    best = np.where(never_the_best, -np.inf, earlier).max(axis=0)
    return float((best - accuracies[t - 1, : t - 1]).mean())


def forward_transfer(R: npt.ArrayLike, r: npt.ArrayLike, t: int) -> float:
    r"""Forward transfer :math:`W_t = \frac{1}{t-1} \sum_{i=2}^{t} (R_{i-1,i} - r_i)`.

    How much better than a randomly initialised model each domain does just before
    it is learned. (The paper leaves the parentheses out; :math:`r_i` belongs in
    the sum.)

    :param R: accuracy matrix; rows up to ``t - 1`` and columns up to ``t`` are read.
    :param r: accuracy of the randomly initialised model on each domain, in the unit
        of ``R``. The first is not read.
    :param t: number of the domain, from 1.
    :return: the average, NaN if one of its accuracies was not measured; NaN for
        ``t = 1`` for the same reason as in :func:`forgetting`.
    """
    accuracies = checked_matrix(R, rows=t - 1, columns=t)
    initial = np.asarray(r, dtype=float)
    if initial.ndim != 1 or len(initial) < t:
        raise ValueError(
            f"r has shape {initial.shape}; domain {t} needs one accuracy for each of "
            f"{t} domains."
        )
    if t == 1:
        return float("nan")
    before_learning = np.diagonal(accuracies, offset=1)[: t - 1]
    return float((before_learning - initial[1:t]).mean())


def checked_matrix(
    R: npt.ArrayLike, *, rows: int, columns: int
) -> npt.NDArray[np.float64]:
    """An accuracy matrix as an array.

    :param R: accuracy matrix.
    :param rows: how many rows it must have at least.
    :param columns: how many columns it must have at least.
    :raises ValueError: if it has fewer, or is not a matrix.
    """
    if columns < 1:
        raise ValueError(f"Domains count from 1, as in the paper; got {columns}.")
    matrix = np.asarray(R, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"R must have two dimensions; its shape is {matrix.shape}.")
    if matrix.shape[0] < rows or matrix.shape[1] < columns:
        raise ValueError(
            f"R has shape {matrix.shape}; domain {columns} needs at least "
            f"{rows} rows and {columns} columns."
        )
    return matrix
