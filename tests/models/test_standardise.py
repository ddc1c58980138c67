"""Inputs of any scale: the statistics, and what is made of values far from them."""

import math
import statistics

import pytest
import torch
from torch import Tensor

from udil_avalanche.models.mlp import mlp
from udil_avalanche.models.standardise import Standardise, standardised
from udil_avalanche.plugins.shared.averaged_model import EmaModel


def slow_statistics(column: list[float]) -> tuple[float, float]:
    """The centre and the scale of a feature."""
    median = statistics.median_low(column)
    distances = [abs(value - median) for value in column]
    real = [distance for distance in distances if distance > 1e-6 * abs(median)]
    if not real:
        return median, 0.1 * abs(median) or 1.0
    reach = 5 * 1.4826 * statistics.median_low(real)
    inner = [min(max(value, median - reach), median + reach) for value in column]
    # The layer keeps it in 32 bits.
    centre = torch.tensor(statistics.fmean(inner)).item()
    return centre, statistics.pstdev(inner)


def slow(value: float, centre: float, scale: float) -> float:
    """A standardised value."""
    z = (value - centre) / scale
    if abs(z) <= 3:
        return z
    return math.copysign(3 + math.log(1 + abs(z) - 3), z)


def wild(n: int = 101) -> Tensor:
    """Columns of all kinds: large, tiny, far from 0, heavy tails, sparse, constant."""
    rows = torch.randn(n, 8)
    rows[:, 0] *= 1e5
    rows[:, 1] *= 1e-6
    rows[:, 2] = 1e4 + rows[:, 2]
    rows[:, 3] = (3 * rows[:, 3]).exp()
    rows[:, 4] = torch.where(rows[:, 4] > 1.5, 50 * rows[:, 4], 0.0)
    rows[:, 5] = (rows[:, 5] > 0).float()
    rows[:, 6] = -300.0
    rows[:, 7] = 0.0
    return rows


@pytest.mark.parametrize("n", [1, 2, 100, 101])
def test_the_formula_on_columns_of_all_kinds(n: int) -> None:
    samples = wild(n)
    layer = Standardise.from_samples(samples)
    later = torch.cat([samples, 100 * wild(20) - 7])
    expected = torch.empty_like(later)
    for j in range(later.shape[1]):
        centre, scale = slow_statistics(samples[:, j].tolist())
        for i, value in enumerate(later[:, j].tolist()):
            expected[i, j] = slow(value, centre, scale)
    torch.testing.assert_close(layer(later), expected, rtol=1e-5, atol=1e-5)


def test_normal_columns_of_any_scale_become_standard_normal() -> None:
    scales = torch.tensor([1e-8, 1e-3, 1.0, 1e5, 1e12])
    rows = scales * (torch.randn(4000, 5) + torch.tensor([0.0, 9, -9, 5, 1]))
    given = Standardise.from_samples(rows)(rows)
    torch.testing.assert_close(given.mean(dim=0), torch.zeros(5), rtol=0, atol=0.1)
    torch.testing.assert_close(given.std(dim=0), torch.ones(5), rtol=0, atol=0.1)


def test_outliers_hardly_move_the_scale() -> None:
    rows = torch.randn(500, 1)
    plain = Standardise.from_samples(rows)
    rows[:25] = 1e9
    spoilt = Standardise.from_samples(rows)
    assert (spoilt.centre - plain.centre).abs() < 0.5
    assert 0.8 < spoilt.scale / plain.scale < 2
    assert 10 < spoilt(rows).max() < 30


def test_a_sparse_column_is_scaled_by_what_it_has_besides_zeros() -> None:
    rows = torch.zeros(400, 1)
    rows[:40, 0] = torch.linspace(5, 15, 40)
    rows[40] = 1e8
    given = Standardise.from_samples(rows)(rows)
    assert given[41:].abs().max() < 0.5
    assert 0.5 < (given[:40] - given[41]).min() < given[:40].max() < 5


@pytest.mark.parametrize("constant", [0.0, 1e-9, -2.5, 300.0, 1e9])
def test_a_column_that_varies_only_later(constant: float) -> None:
    layer = Standardise.from_samples(torch.full((50, 1), constant))
    assert layer(torch.tensor([[constant]])).item() == 0
    unit = abs(constant) or 1.0
    changes = torch.tensor([0.1, 0.5, 1, 2, 1e3, 1e6, 1e12]) * unit
    given = layer(constant + changes[:, None]).squeeze(1)
    assert given[0] > 0.09, "a small change is seen"
    assert (given.diff() > 0.1).all(), "and told from larger ones"
    assert given[-1] < 40, "of which none drowns all else"


def test_rounding_errors_of_a_constant_are_not_its_scale() -> None:
    rows = torch.full((50, 1), 1e6)
    rows[::2] += 0.0625
    layer = Standardise.from_samples(rows)
    assert layer(rows).abs().max() < 1e-5


def test_values_far_out_keep_their_order_and_stay_small() -> None:
    layer = Standardise(torch.zeros(1), torch.ones(1))
    z = torch.logspace(-3, 30, 400)[:, None]
    given = layer(z)
    assert (given.diff(dim=0) > 0).all()
    assert layer(torch.tensor([[1e6]])).item() == pytest.approx(16.8, abs=0.05)
    assert torch.equal(layer(-z), -given)
    inside = z[z <= 3][:, None]
    assert torch.equal(layer(inside), inside)


def test_the_compression_is_smooth() -> None:
    layer = Standardise(torch.zeros(1).double(), torch.ones(1).double())
    z = torch.tensor([-50, -3.001, -1, 0, 2.999, 3.001, 4, 50]).double()
    z.requires_grad_()
    layer(z).sum().backward()
    expected = 1 / (1 + (z.detach().abs() - 3).clamp(min=0))
    torch.testing.assert_close(z.grad, expected)


def test_no_finite_input_gives_a_number_that_is_not_finite() -> None:
    extremes = torch.tensor([0, 1e-45, 1e-38, 1, 1e30, 3.4e38])
    extremes = torch.cat([extremes, -extremes])
    columns = torch.cartesian_prod(extremes, extremes, extremes).T
    # As in a run: the smallest numbers count as 0.
    torch.set_flush_denormal(True)
    layer = Standardise.from_samples(columns)
    given = layer(extremes[:, None].expand(-1, columns.shape[1]))
    assert given.isfinite().all()
    assert given.abs().max() < 100


def test_channels_of_images_are_features() -> None:
    images = torch.randn(40, 3, 6, 5) * torch.tensor([1e-3, 1, 1e4]).view(3, 1, 1) + 2
    layer = Standardise.from_samples(images)
    assert layer.centre.shape == layer.scale.shape == (3, 1, 1)
    for channel in range(3):
        values = images[:, channel].flatten().tolist()
        centre, scale = slow_statistics(values)
        assert layer.centre[channel].item() == pytest.approx(centre)
        assert layer.scale[channel].item() == pytest.approx(scale, rel=1e-5)
    assert layer(images).shape == images.shape
    assert Standardise.from_samples(images[:, 0]).centre.shape == (6, 5)


def test_the_statistics_are_saved_with_the_weights_and_are_not_trained() -> None:
    samples = wild()
    model = standardised(mlp(8, 2, hidden=4), samples)
    fresh = standardised(mlp(8, 2, hidden=4), torch.randn(5, 8))
    fresh.load_state_dict(model.state_dict())
    assert torch.equal(fresh(samples), model(samples))
    trained = {name for name, _ in model.named_parameters()}
    assert not any(name.startswith("encoder.input") for name in trained)


def test_the_model_behind_it_is_the_one_that_was_given() -> None:
    samples, model = wild(), mlp(8, 2, hidden=4)
    whole = standardised(model, samples)
    layer = Standardise.from_samples(samples)
    assert torch.equal(whole(samples), model(layer(samples)))
    assert torch.equal(whole.encoder(samples), model.encoder(layer(samples)))


@pytest.mark.parametrize("alpha", [0.1, 0.7, 0.999])
def test_averages_of_the_model_have_the_same_statistics(alpha: float) -> None:
    model = standardised(mlp(8, 2, hidden=4), wild() / 3)
    average = EmaModel(alpha)
    average.start(model)
    before = {name: value.clone() for name, value in model.named_buffers()}
    for _ in range(50):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += torch.randn_like(parameter)
        average.update(model)
    assert average.model is not None
    kept = dict(average.model.named_buffers())
    assert len(kept) == 2
    assert all(torch.equal(kept[name], value) for name, value in before.items())


@pytest.mark.parametrize("scale", [torch.zeros(3), torch.ones(4)])
def test_a_scale_that_cannot_be_divided_by_is_refused(scale: Tensor) -> None:
    with pytest.raises(ValueError, match="must be positive and of the shape"):
        Standardise(torch.zeros(3), scale)


def test_the_statistics_are_its_own() -> None:
    centre = torch.zeros(3)
    layer = Standardise(centre, torch.ones(3))
    centre += 1
    assert layer.centre.eq(0).all()
