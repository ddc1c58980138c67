import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes import METHODS, RunSettings
from udil_avalanche.recipes.build import build_benchmark, build_model
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs import experiment
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder

DOMAINS = 3
EPOCHS = 6
STEPS_PER_DOMAIN = EPOCHS * 7
TERMS = {"lambda_d": 0.1, "lambda_p": 0.1, "lambda_s": 0.01}
"""Weights with which no term of UDIL is left out."""
Start = Callable[..., tuple[dict[str, Any], Path]]


def tiny(strategy: str, output: Path, **options: Any) -> RunSettings:
    """A run of a few seconds that still learns something, with the plain defaults."""
    data = {"domains": DOMAINS, "train_per_domain": 400, "test_per_domain": 200}
    model = {"dimensions": 10, "hidden": 64, "optimizer": "adam", "lr": 3e-3}
    steps = {"epochs": EPOCHS, "batch_size": 64, "threads": 1}
    if "random_features" in METHODS[strategy].settings.model_fields:
        model["random_features"] = 200
    options = {**data, **model, **steps, "output": str(output), **options}
    no_configs = output
    return resolve(strategy, "hd_balls", options=options, configs=no_configs)


@pytest.fixture(scope="module", autouse=True)
def threads() -> Iterator[None]:
    """Lets other tests have their threads back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Runs tiny settings, each in its own folder."""

    def start(strategy: str, **options: Any) -> tuple[dict[str, Any], Path]:
        settings = tiny(strategy, tmp_path_factory.mktemp("runs"), **options)
        return run(settings), RunFolder.of(settings).path

    return start


@pytest.fixture(scope="module")
def udil(start: Start) -> tuple[dict[str, Any], Path]:
    return start("UDIL", **TERMS)


def test_the_run_folder_is_complete(udil: tuple[dict[str, Any], Path]) -> None:
    _, folder = udil
    assert {file.name for file in folder.iterdir()} == {
        ".lock",
        "settings.yaml",
        "versions.json",
        "metrics.jsonl",
        "tensorboard",
        "result.json",
        "accuracy_matrix.png",
        "accuracy_per_domain.png",
        "coefficients.png",
        "divergence_and_beta.png",
        "bound.png",
        "model.safetensors",
        "embeddings.json",
        "done",
    }


def test_the_result_has_all_that_reports_need(
    udil: tuple[dict[str, Any], Path],
) -> None:
    result, folder = udil
    assert json.loads((folder / "result.json").read_text()) == result
    assert result["benchmark"] == result["data"] == "hd_balls"
    assert result["strategy"] == "UDIL"
    assert result["memory"] == 400
    assert result["seed"] == 0
    assert result["seconds"] > 0
    assert 50 < result["peak_memory_mb"] < 50_000
    assert result["steps"] == DOMAINS * STEPS_PER_DOMAIN
    assert result["settings"]["hidden"] == 64
    assert result["versions"]["avalanche-lib"].startswith("0.6")


def test_the_figures_are_those_of_the_matrix(
    udil: tuple[dict[str, Any], Path],
) -> None:
    result, _ = udil
    R, r = result["accuracy_matrix"], result["random_accuracy"]
    assert [len(row) for row in R] == [DOMAINS] * DOMAINS
    assert len(r) == DOMAINS
    assert all(0 <= accuracy <= 100 for accuracy in [*R[0][:2], *R[1], *R[2], *r])
    assert R[0][2] is None, "neither learned nor the next"
    assert R[0][0] > 60, "a domain just learned is known better than by chance"

    assert result["avg_acc"] == pytest.approx(sum(R[2]) / 3)
    drops = [max(R[0][j], R[1][j]) - R[2][j] for j in (0, 1)]
    assert result["forgetting"] == pytest.approx(sum(drops) / 2)
    gains = [R[0][1] - r[1], R[1][2] - r[2]]
    assert result["forward_transfer"] == pytest.approx(sum(gains) / 2)


def test_every_domain_has_its_line(udil: tuple[dict[str, Any], Path]) -> None:
    result, folder = udil
    lines = [
        json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]
    assert [line["domain"] for line in lines] == [1, 2, 3]
    assert [line["accuracies"] for line in lines] == result["accuracy_matrix"]
    assert [line["steps"] for line in lines] == [42, 84, 126]
    assert lines[-1]["avg_acc"] == result["avg_acc"]
    assert [line["forgetting"] for line in lines] == [
        None,
        pytest.approx(lines[0]["accuracies"][0] - lines[1]["accuracies"][0]),
        result["forgetting"],
    ]
    assert "alpha" not in lines[0]
    for line in lines[1:]:
        omegas = list(zip(line["alpha"], line["beta"], line["gamma"], strict=True))
        assert len(omegas) == line["domain"] - 1
        assert [sum(omega) for omega in omegas] == pytest.approx([1] * len(omegas))


def test_tensorboard_shows_metrics_terms_and_pictures(
    udil: tuple[dict[str, Any], Path],
) -> None:
    result, folder = udil
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    scalars = events.Tags()["scalars"]
    for name in ("Domain/avg_acc", "Domain/forgetting", "Terms/V_d", "Terms/beta"):
        assert any(tag.startswith(name) for tag in scalars), (name, scalars)
    [tag] = [tag for tag in scalars if tag.startswith("Domain/avg_acc")]
    assert events.Scalars(tag)[-1].value == pytest.approx(result["avg_acc"])
    assert events.Tags()["images"]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_seed_gives_the_same_run_bit_for_bit(
    threads: int, start: Start
) -> None:
    options = {"domains": 2, "hidden": 256, "train_per_domain": 150, "epochs": 1}
    (first, first_folder), (again, again_folder) = (
        start("UDIL", threads=threads, **TERMS, **options) for _ in range(2)
    )
    assert again["accuracy_matrix"] == first["accuracy_matrix"]
    assert again["random_accuracy"] == first["random_accuracy"]
    weights = (again_folder / "model.safetensors").read_bytes()
    assert weights == (first_folder / "model.safetensors").read_bytes()


def test_another_seed_gives_another_run(
    udil: tuple[dict[str, Any], Path], start: Start
) -> None:
    other, _ = start("UDIL", seed=1, **TERMS)
    assert other["accuracy_matrix"] != udil[0]["accuracy_matrix"]
    assert other["random_accuracy"] != udil[0]["random_accuracy"]


def test_unseen_domains_are_tested_on_request(
    udil: tuple[dict[str, Any], Path], start: Start
) -> None:
    (some, _), (every, _) = udil, start("UDIL", test_all_domains=True, **TERMS)
    assert 0 <= every["accuracy_matrix"][0][2] <= 100
    every["accuracy_matrix"][0][2] = None
    assert some["accuracy_matrix"] == every["accuracy_matrix"]


@pytest.mark.parametrize("strategy", METHODS)
def test_every_strategy_runs(strategy: str, start: Start) -> None:
    (result, folder), (again, again_folder) = (start(strategy) for _ in range(2))
    assert json.loads((folder / "result.json").read_text()) == result
    assert result["strategy"] == strategy
    assert result["memory"] == METHODS[strategy].settings().memory
    assert result["joint"] == (strategy == "Joint")
    R = result["accuracy_matrix"]
    assert [len(row) for row in R] == [DOMAINS] * DOMAINS
    measured = R[-1:] if strategy == "Joint" else [R[0][:2], *R[1:]]
    assert all(0 <= accuracy <= 100 for row in measured for accuracy in row)
    assert measured[0][0] > 60, "better than by chance"
    assert result["avg_acc"] == pytest.approx(sum(R[-1]) / DOMAINS)
    assert {"accuracy_matrix.png", "accuracy_per_domain.png"} <= {
        picture.name for picture in folder.glob("*.png")
    }
    assert (folder / "coefficients.png").exists() == (strategy == "UDIL")

    assert again["accuracy_matrix"] == R
    weights = (again_folder / "model.safetensors").read_bytes()
    assert weights == (folder / "model.safetensors").read_bytes()


def test_joint_training_learns_all_domains_at_once(start: Start) -> None:
    result, folder = start("Joint")
    [line] = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    steps_on_all = EPOCHS * -(-DOMAINS * 400 // 64)
    assert result["steps"] == line["steps"] == steps_on_all
    assert line["domain"] == DOMAINS
    *others, last = result["accuracy_matrix"]
    assert others == [[None] * DOMAINS] * (DOMAINS - 1)
    assert line["accuracies"] == last
    assert all(0 <= accuracy <= 100 for accuracy in result["random_accuracy"])
    for figures in (line, result):
        assert figures["forgetting"] is None
        assert figures["forward_transfer"] is None


@pytest.mark.parametrize(
    ("strategy", "average"),
    [*((name, 0.0) for name in METHODS), ("UDIL", 0.99), ("Joint", 0.99)],
)
def test_the_saved_weights_are_those_that_were_evaluated(
    strategy: str, average: float, start: Start
) -> None:
    averaged = "stable_alpha" in METHODS[strategy].settings.model_fields
    stable = {"stable_alpha": 0.99} if averaged else {}
    options = {"domains": 2, "epochs": 2, "hidden": 32, "average": average, **stable}
    result, folder = start(strategy, **options)
    settings = tiny(strategy, folder, **options)
    benchmark = build_benchmark(settings)
    model = build_model(settings, benchmark)
    model.load_state_dict(load_file(folder / "model.safetensors"))
    accuracies = []
    for experience in benchmark.test_stream:
        x, y, _ = zip(*experience.dataset, strict=True)
        hits = model(torch.stack(x)).argmax(dim=1) == torch.tensor(y)
        accuracies.append(100 * hits.float().mean().item())
    assert accuracies == pytest.approx(result["accuracy_matrix"][-1])


@pytest.mark.parametrize(
    "strategy",
    [name for name in METHODS if "reservoir" in METHODS[name].settings.model_fields],
)
def test_a_reservoir_instead_of_a_balanced_memory(strategy: str, start: Start) -> None:
    options = {"domains": 2, "epochs": 2, "hidden": 32, "memory": 50}
    balanced, _ = start(strategy, **options)
    result, _ = start(strategy, reservoir=True, **options)
    assert result["accuracy_matrix"] != balanced["accuracy_matrix"]
    assert result["random_accuracy"] == balanced["random_accuracy"]


def test_a_single_domain_has_nothing_to_forget(start: Start) -> None:
    result, folder = start("UDIL", domains=1, epochs=1)
    assert result["avg_acc"] == result["accuracy_matrix"][0][0]
    assert result["forgetting"] is None
    assert result["forward_transfer"] is None
    assert {picture.name for picture in folder.glob("*.png")} == {
        "accuracy_matrix.png",
        "accuracy_per_domain.png",
    }


def test_validation_tests_on_samples_held_out_of_training(start: Start) -> None:
    result, _ = start("ER", validation=0.25, train_per_domain=40, batch_size=30)
    assert result["steps"] == DOMAINS * EPOCHS, "30 of 40 samples are one batch"
    hits = [accuracy / 10 for accuracy in result["accuracy_matrix"][-1]]
    assert hits == pytest.approx([round(count) for count in hits])


def test_a_run_that_is_done_is_not_repeated(tmp_path: Path) -> None:
    settings = tiny("Fine-tune", tmp_path)
    folder = RunFolder.of(settings)
    folder.begin(settings)
    folder.finish({"avg_acc": 12.5})
    assert run(settings) == {"avg_acc": 12.5}


def test_a_device_that_is_not_there_is_named(tmp_path: Path) -> None:
    settings = tiny("ER", tmp_path, device="abacus")
    with pytest.raises(SettingsError, match="device=abacus"):
        run(settings)
    assert not RunFolder.of(settings).is_begun


def test_a_model_without_an_encoder_runs_and_leaves_no_embeddings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(10, 2))
    monkeypatch.setattr(experiment, "build_model", lambda *_: model)
    settings = tiny("Fine-tune", tmp_path, domains=1, epochs=1)
    assert run(settings)["steps"] > 0
    assert not (RunFolder.of(settings).path / "embeddings.json").exists()
