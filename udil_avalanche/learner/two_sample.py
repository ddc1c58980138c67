"""How far new samples are from a domain that was learned."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from udil_avalanche.learner.wilson import wilson_interval
from udil_avalanche.theory.leave_one_out import leave_one_out_predictions


@dataclass(frozen=True)
class TwoSampleTest:
    """Whether and how well a classifier tells new samples from those of a domain.

    :param divergence: as in the paper, 2(1 - 2 err): 0 if it cannot tell them apart, 2
        if it makes no mistake. It is what can be seen with so many samples, which more
        of them only raise.
    :param low: lower end of the divergence's interval.
    :param high: upper end of the divergence's interval.
    :param p_value: how often samples of that same domain would be told apart as well.
    :param n_known: samples of the domain that were compared.
    :param n_new: new samples that were compared.
    :param n_apart: new samples that could not be compared, because the domain has none
        of their class.
    """

    divergence: float
    low: float
    high: float
    p_value: float
    n_known: int
    n_new: int
    n_apart: int = 0

    @property
    def is_measured(self) -> bool:
        """Whether there was enough to compare."""
        return min(self.n_known, self.n_new) >= 2


def two_sample_test(
    *,
    known: Tensor,
    new: Tensor,
    known_classes: Tensor | None = None,
    new_classes: Tensor | None = None,
    permutations: int = 999,
    confidence: float = 0.95,
    most: int = 500,
    seed: int = 0,
) -> TwoSampleTest:
    r"""A classifier two-sample test on embeddings: a ridge regression is to tell the
    new samples from the domain's, each by a fit without it (see
    :func:`~udil_avalanche.theory.leave_one_out.leave_one_out_predictions`).

    **Which samples.** ``known`` should be the domain's reserve. The model was trained
    on what the memory holds, so the embeddings of the memory are those of samples that
    it knows by heart: new samples of the very same domain can be told from them.
    Reserve and new samples were both never trained on. Without a reserve, pass the
    inputs of the memory and of the new samples instead of their embeddings: inputs do
    not change by training.

    **The class mix.** With ``known_classes`` and ``new_classes`` samples are compared
    within their class only: every class has an intercept of its own, classes count by
    how much there is of them on both sides, and a class that is on one side only is
    left out. So the test asks whether :math:`P(e(x) | y)` is another one, and other
    frequencies of the classes alone do not look like another domain. Pass the labels of
    both sides if the new samples have any, else the classes that the model predicts for
    both. Predicted classes do the same as far as the model is right.

    **The p-value** is exact for few samples and for sides of different sizes: it
    compares how well the sides are told apart with how well they are when samples
    change sides at random, within their class. What it compares is the correlation of
    predictions and sides, which sees more than a count of mistakes does.

    **The interval.** The errors on both sides have Wilson intervals, which together
    give that of their sum. Predictions that leave one sample out depend on each other,
    so the count of mistakes varies more than that of independent ones. How much more is
    taken from the random exchanges of sides.

    :param known: e(x) for samples of the domain, one row each.
    :param new: e(x) for the new samples.
    :param known_classes: the class of each sample of the domain.
    :param new_classes: the class of each new sample; both or none.
    :param permutations: how often to exchange sides at random.
    :param confidence: how often the interval is to hold the truth.
    :param most: samples to use at most of each side, a random draw of them: the time
        grows with the cube of their number.
    :param seed: seed of the draws.
    """
    if (known_classes is None) != (new_classes is None):
        raise ValueError("Give the classes of both sides or of none.")
    generator = torch.Generator().manual_seed(seed)
    features, classes = [], []
    for rows, of_rows in ((known, known_classes), (new, new_classes)):
        chosen = torch.randperm(len(rows), generator=generator)[:most].sort().values
        features.append(rows.detach().flatten(start_dim=1)[chosen.to(rows.device)])
        found = torch.zeros(len(chosen)) if of_rows is None else of_rows.cpu()[chosen]
        classes.append(found.long())
    is_new = torch.cat([torch.full((len(each),), i) for i, each in enumerate(classes)])
    together = torch.cat(classes)
    shared = torch.isin(together, classes[0]) & torch.isin(together, classes[1])
    side, groups = is_new[shared], _counted_from_zero(together[shared])
    n_new = int(side.sum())
    n_known, n_apart = len(side) - n_new, len(classes[1]) - n_new
    if min(n_known, n_new) < 2:
        # As in theory.measured_divergence: 2, so that the bound holds.
        return TwoSampleTest(2.0, 0.0, 2.0, 1.0, n_known, n_new, n_apart)

    sides = _exchanged(side, groups, permutations, generator)
    x = torch.cat([each.float() for each in features])
    x = x[shared.to(x.device)]
    scores = _scores(x, sides.to(x.device), groups.to(x.device)).cpu()
    correlations, errors, sizes = _compared(scores, sides, groups)
    as_far = int((correlations[1:] >= correlations[0] - 1e-9).sum())
    divergences = 2 - 2 * errors.sum(dim=0)
    inflation = max(1.0, float(divergences[1:].square().mean() / (1 / sizes).sum()))
    ends = [
        wilson_interval(float(error), float(size) / inflation, confidence=confidence)
        for error, size in zip(errors[:, 0], sizes, strict=True)
    ]
    measured = errors[:, 0].tolist()
    below = math.hypot(*(e - low for e, (low, _) in zip(measured, ends, strict=True)))
    above = math.hypot(*(high - e for e, (_, high) in zip(measured, ends, strict=True)))
    total = sum(measured)
    return TwoSampleTest(
        divergence=_in_range(2 - 2 * total),
        low=_in_range(2 - 2 * (total + above)),
        high=_in_range(2 - 2 * (total - below)),
        p_value=(1 + as_far) / (1 + permutations),
        n_known=n_known,
        n_new=n_new,
        n_apart=n_apart,
    )


def _counted_from_zero(classes: Tensor) -> Tensor:
    positions: Tensor = torch.unique(classes, return_inverse=True)[1]
    return positions


def _in_range(divergence: float) -> float:
    return min(2.0, max(0.0, divergence))


def _exchanged(
    side: Tensor, groups: Tensor, permutations: int, generator: torch.Generator
) -> Tensor:
    """The sides as they are, in the first column, and with samples of the same group
    exchanged at random in all others."""
    sides = side[:, None].expand(-1, 1 + permutations).float().clone()
    for group in range(int(groups.max()) + 1):
        rows = torch.nonzero(groups == group).squeeze(1)
        order = torch.rand(permutations, len(rows), generator=generator).argsort(dim=1)
        sides[rows, 1:] = side[rows].float()[order].T
    return sides


def _scores(x: Tensor, sides: Tensor, groups: Tensor) -> Tensor:
    """How far each sample is on the new side of its class's mean, by fits to all other
    samples: one column for each column of ``sides``."""
    weights = torch.ones_like(x[:, 0])
    predicted = leave_one_out_predictions(x, sides, weights, groups=groups)
    sizes = torch.bincount(groups)[groups, None]
    n_new = torch.zeros_like(sides).index_add(0, groups, sides)[groups]
    return predicted - (n_new - sides) / (sizes - 1)


def _compared(
    scores: Tensor, sides: Tensor, groups: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The correlation of scores and sides within classes; the errors on both sides,
    one row each; and the number of independent samples that these errors are worth."""
    sizes = torch.bincount(groups).float()
    n_new = torch.zeros_like(sizes).index_add(0, groups, sides[:, 0])
    share = (n_new / sizes)[groups, None]
    centred = sides - share
    products = (scores * centred).sum(dim=0)
    correlations = products / scores.square().sum(dim=0).sqrt().clamp(min=1e-12)
    # Scores count from the mean of a class, which is nearer to the larger side. In the
    # middle between the sides, none of them is preferred.
    gap = products / centred.square().sum(dim=0)
    middle = (0.5 - share) * gap.clamp(min=0)
    wrong = ((scores > middle) != (sides > 0.5)).float()
    n_sides = torch.stack([sizes - n_new, n_new])
    mix = n_sides.prod(dim=0) / sizes
    mix = mix / mix.sum()
    weights = (mix / n_sides)[:, groups]
    on_new = sides * wrong
    errors = torch.stack([weights[0] @ (wrong - on_new), weights[1] @ on_new])
    return correlations, errors, 1 / (mix.square() / n_sides).sum(dim=1)
