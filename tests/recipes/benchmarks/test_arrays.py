"""The model for your own arrays, and its inputs of any scale."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from udil_avalanche.errors import RunError
from udil_avalanche.models.mlp import mlp
from udil_avalanche.models.standardise import Standardise
from udil_avalanche.recipes import METHODS, RunSettings
from udil_avalanche.recipes.build import build_benchmark, build_model
from udil_avalanche.recipes.identity import fingerprint
from udil_avalanche.recipes.resolve import resolve, stored_settings
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder

Write = Callable[..., Path]

WRITTEN_BEFORE = {"optimizer": "adam", "lr": 1e-3, "clip_norm": None, "anneal": 0}
"""What runs wrote down when these were the defaults."""
WRITTEN_BEFORE_BY = {
    "UDIL": {
        "coefficients": "learned",
        "stratified_memory": False,
        "C": 5,
        "lambda_d": 0.1,
        "lambda_p": 0.01,
        "lambda_s": 0.01,
        "cross_domain_threshold": 2,
        "lr_discriminator": 1e-4,
        "hidden_discriminator": 800,
        "objective_t_power": 0,
    }
}


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than these runs, and is tested elsewhere."""
    monkeypatch.setattr("udil_avalanche.runs.experiment._draw", lambda *arguments: None)
    value = "udil_avalanche.evaluation.domain_metrics._AccuracyMatrixValue"
    monkeypatch.setattr(f"{value}.best_supported_value", lambda *arguments: None)


def model_of(settings: RunSettings) -> Any:
    torch.manual_seed(settings.seed)
    return build_model(settings, build_benchmark(settings))


def settings_of(strategy: str, root: Path, **options: Any) -> RunSettings:
    given = {"data": str(root / "data"), "output": str(root / "runs"), "threads": 1}
    small = {"hidden": 32, "epochs": 20}
    if METHODS[strategy].has_memory:
        small["memory"] = 30
    if "random_features" in METHODS[strategy].settings.model_fields:
        small["random_features"] = 200
    return resolve(strategy, "arrays", options={**given, **small, **options})


def accuracy_when_learned(settings: RunSettings) -> float:
    """The mean accuracy on each domain right after it, in percent."""
    try:
        matrix = np.array(run(settings)["accuracy_matrix"], dtype=float)
    except RunError:  # The loss was not finite.
        return 0.0
    joint = METHODS[settings.strategy].is_joint
    return float((matrix[-1] if joint else np.diagonal(matrix)).mean())


@pytest.mark.parametrize("strategy", METHODS)
def test_every_method_learns_from_raw_readings(
    strategy: str, tmp_path: Path, write_sensors: Write
) -> None:
    write_sensors(tmp_path / "data", domains=2)
    raw, standard = (
        accuracy_when_learned(settings_of(strategy, tmp_path, standardise=on))
        for on in (False, True)
    )
    # Discriminant analysis divides by the covariance: it has no scale.
    assert (raw < 50 or strategy == "SLDA") and standard > 90


def test_every_method_saves_the_statistics_with_the_weights_and_none_moves_them(
    tmp_path: Path, write_sensors: Write
) -> None:
    write_sensors(tmp_path / "data", domains=2)
    for strategy in METHODS:
        settings = settings_of(strategy, tmp_path, epochs=1)
        run(settings)
        weights = load_file(RunFolder.of(settings).path / "model.safetensors")
        first = model_of(settings).encoder.input
        assert torch.equal(weights["encoder.input.centre"], first.centre), strategy
        assert torch.equal(weights["encoder.input.scale"], first.scale), strategy


@pytest.mark.parametrize("options", [{}, {"validation": 0.5}, {"train_per_domain": 9}])
def test_the_statistics_are_those_of_the_first_domains_training_samples(
    options: dict[str, Any], tmp_path: Path, write_sensors: Write
) -> None:
    write_sensors(tmp_path / "data")
    settings = settings_of("ER", tmp_path, **options)
    benchmark = build_benchmark(settings)
    trained_on = torch.stack([x for x, *_ in benchmark.train_stream[0].dataset])
    expected = Standardise.from_samples(trained_on)
    # Where another domain was read last.
    len(benchmark.train_stream[2].dataset.batch([0]))
    model: Any = build_model(settings, benchmark)
    assert torch.equal(model.encoder.input.centre, expected.centre)
    assert torch.equal(model.encoder.input.scale, expected.scale)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.bool_])
def test_all_but_8_bit_inputs_are_standardised(dtype: Any, tmp_path: Path) -> None:
    save(tmp_path, np.arange(200).reshape(50, 4).astype(dtype))
    assert isinstance(model_of(settings_of("ER", tmp_path)).encoder[0], Standardise)


def test_images_of_floats_are_standardised_by_channel(tmp_path: Path) -> None:
    save(tmp_path, np.random.default_rng(0).normal(size=(50, 3, 4, 5)))
    model = model_of(settings_of("ER", tmp_path))
    assert model.encoder.input.centre.shape == (3, 1, 1)
    assert model(torch.randn(7, 3, 4, 5)).shape == (7, 2)


@pytest.mark.parametrize(
    ("dtype", "standardise"), [(np.uint8, True), (np.uint8, False), (np.float32, False)]
)
def test_without_it_the_model_is_the_plain_one(
    dtype: Any, standardise: bool, tmp_path: Path
) -> None:
    save(tmp_path, np.arange(200).reshape(50, 4).astype(dtype))
    model = model_of(settings_of("ER", tmp_path, standardise=standardise))
    torch.manual_seed(0)
    plain = mlp(4, 2, hidden=32).state_dict()
    assert model.state_dict().keys() == plain.keys()
    for name, value in model.state_dict().items():
        assert torch.equal(value, plain[name])


def test_standardising_draws_no_random_numbers(
    tmp_path: Path, write_sensors: Write
) -> None:
    write_sensors(tmp_path / "data")
    model = model_of(settings_of("ER", tmp_path))
    drawn = torch.rand(3)
    plain = model_of(settings_of("ER", tmp_path, standardise=False))
    assert torch.equal(drawn, torch.rand(3))
    for mine, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize(
    ("strategy", "before"),
    [("UDIL", "21cef6e2"), ("ER", "c61a21e6"), ("SI", "372321cf")],
)
def test_runs_made_before_count_as_not_standardised(strategy: str, before: str) -> None:
    given = {"strategy": strategy, "benchmark": "arrays", "data": "sensors"}
    written = {**given, **WRITTEN_BEFORE, **WRITTEN_BEFORE_BY.get(strategy, {})}
    old = stored_settings(written)
    assert old.standardise is False  # type: ignore[attr-defined]
    assert fingerprint(old) == before
    assert fingerprint(resolve(options={**written, "standardise": True})) != before
    assert fingerprint(resolve(options=given)) != before


def save(root: Path, x: Any) -> None:
    (root / "data").mkdir()
    np.savez(root / "data/one.npz", x=x, y=np.arange(len(x)) % 2)
