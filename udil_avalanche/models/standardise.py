"""Inputs of any scale as numbers that a network can learn from."""

from collections import OrderedDict

import torch
from torch import Tensor, nn

from udil_avalanche.models.mlp import EncoderPredictor

LINEAR_UP_TO = 3.0
"""Deviations up to which values are kept; beyond, they grow by their logarithm."""

NORMAL = 1.4826
"""Standard deviation of a normal distribution, in median absolute deviations."""

OUTLIERS_FROM = 5.0
"""Values further from the median, in such deviations, are moved to this distance."""

ROUNDING = 1e-6
"""Differences from the median that are smaller, relative to it, are rounding errors of
32-bit floats."""

SHARE_OF_A_CONSTANT = 0.1
"""A feature that has always had the same value deviates by this share of it."""

_LIMITS = torch.finfo(torch.float32)


class Standardise(nn.Module):
    r"""Centres and scales inputs feature by feature, and compresses what lies far out:

    .. math::
        z = \frac{x - \text{centre}}{\text{scale}}, \qquad
        f(z) = \begin{cases} z & |z| \le 3 \\
               \operatorname{sign}(z) \, (3 + \ln(1 + |z| - 3)) & |z| > 3 \end{cases}

    The statistics are those of the first domain, and later domains can lie far outside
    its range. Cutting them off at a limit would make their samples equal, and leaving
    them as they are would let a few large numbers swamp all others. f is smooth and
    strictly increasing: what differs stays different, and a drift of a million
    deviations becomes 17.

    The statistics are a part of the model. Every copy of it standardises in the same
    way, saved weights include them, and no later domain changes them::

        first = 5 * torch.randn(500, 8) + 20
        model = nn.Sequential(Standardise.from_samples(first), nn.Linear(8, 2))

    :param centre: what to subtract; of the shape of an input, or one that broadcasts.
    :param scale: what to divide by, of the same shape; positive.
    """

    centre: Tensor
    scale: Tensor

    def __init__(self, centre: Tensor, scale: Tensor) -> None:
        super().__init__()
        if centre.shape != scale.shape or not (scale > 0).all():
            raise ValueError(
                "The scale must be positive and of the shape of the centre, but the "
                f"shapes are {tuple(scale.shape)} and {tuple(centre.shape)}, and the "
                f"smallest scale is {scale.min().item()}."
            )
        self.register_buffer("centre", centre.clone())
        self.register_buffer("scale", scale.clone())

    @classmethod
    def from_samples(cls, samples: Tensor) -> "Standardise":
        """Standardise by the mean and the standard deviation of each feature after its
        outliers were brought in to five deviations from the median. These deviations
        are median absolute ones, times 1.4826, which outliers do not move. (They would
        not do as the scale itself: a skewed feature's tail would become too large.)

        They are taken over the samples that differ from the median. So the few other
        values of a feature that is nearly always 0 do not count as outliers.

        A feature that is constant has no deviation to go by. Later domains may still
        change it. A tenth of its value counts as its deviation, or 1 if it is 0: small
        enough to see a change, and f limits what a large one does to a network whose
        weights have never seen any.

        :param samples: one input per row. In images, inputs of three or more
            dimensions, each channel is a feature: the first dimension. In all others
            each number is one.
        """
        is_image = samples.dim() > 3
        shape = samples.shape[1:]
        if is_image:
            features = samples.transpose(0, 1).flatten(start_dim=1)
            shape = torch.Size([len(features), *[1] * (len(shape) - 1)])
        else:
            features = samples.flatten(start_dim=1).T
        # One at a time: a copy of all samples might not fit into memory.
        found = torch.stack([_centre_and_scale(each.double()) for each in features])
        centre, scale = found.T
        return cls(centre.reshape(shape), scale.reshape(shape))

    def forward(self, x: Tensor) -> Tensor:
        """The standardised inputs.

        :param x: inputs, one per row.
        """
        z = (x - self.centre) / self.scale
        z = z.clamp(_LIMITS.min, _LIMITS.max)  # The quotient may be infinite.
        near = z.clamp(-LINEAR_UP_TO, LINEAR_UP_TO)
        far = z - near
        return near + far.sign() * far.abs().log1p()


def _centre_and_scale(values: Tensor) -> Tensor:
    """The centre and the scale of all values of a feature."""
    median = values.median()
    distances = (values - median).abs()
    distances = distances[distances > ROUNDING * median.abs()]
    if len(distances):
        reach = OUTLIERS_FROM * NORMAL * distances.median()
        inner = values.clamp(median - reach, median + reach)
        centre, scale = inner.mean(), inner.std(correction=0)
    else:
        constant = SHARE_OF_A_CONSTANT * median.abs()
        centre, scale = median, constant if constant > 0 else torch.ones_like(median)
    # In single precision 1 / scale must be finite.
    found = torch.stack([centre, scale.clamp(_LIMITS.tiny, _LIMITS.max)])
    return found.to(torch.get_default_dtype())


def standardised(model: EncoderPredictor, samples: Tensor) -> EncoderPredictor:
    """A model that standardises its inputs first, as a part of its encoder.

    :param model: the model; the new one takes over its encoder and predictor.
    :param samples: the samples to take the statistics from, one input per row.
    """
    first = Standardise.from_samples(samples)
    encoder = nn.Sequential(OrderedDict([("input", first), ("body", model.encoder)]))
    return EncoderPredictor(encoder, model.predictor)
