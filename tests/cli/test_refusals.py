"""What is refused, in which words: the setting, what is wrong, and what to write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from udil_avalanche.cli.main import main
from udil_avalanche.errors import RunError, SettingsError
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder

PAIR = ["--strategy=ER", "--benchmark=hd_balls"]
TINY = {"domains": 2, "train_per_domain": 64, "test_per_domain": 16, "threads": 1}


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ([*PAIR, "lr=inf"], "lr=inf: must be finite and above 0"),
        ([*PAIR, "learning_rate=0.1"], "'learning_rate': did you mean lr?"),
        ([*PAIR, "mem_size=40"], "'mem_size': did you mean memory?"),
        (["swep", "x.yaml"], "there is no command 'swep': did you mean sweep?"),
        ([*PAIR, "validation=0.999"], "that leaves less than a tenth to train on"),
        ([*PAIR, "--memory=50", "memory=60"], "--memory 50 and memory=60: give one"),
        ([*PAIR, "strategy=UDIL"], "--strategy ER and strategy=UDIL: give one"),
        ([*PAIR, "lr=1", "lr=2"], "lr=1 and lr=2: give one value"),
        ([*PAIR, "--memory=50", "Memory=60"], "--memory 50 and Memory=60: give one"),
        (
            [*PAIR, "--train-per-domain=64", "train-per-domain=32"],
            "--train-per-domain 64 and train-per-domain=32: give one",
        ),
        ([*PAIR, "--seed=1", "--seed=2"], "--seed 1 and --seed 2: give one of them"),
        ([*PAIR, f"batch_size={2**63}"], f"batch_size={2**63}: must be below 2^63"),
        ([*PAIR, "--output", ""], "output=: the name is empty"),
        (["learn", "m", "--data", "d", "lr=1", "lr=2"], "lr=1 and lr=2: give one"),
        (["learn", "m", "--data=d", "--seed=1", "seed=2"], "--seed 1 and seed=2: give"),
        (["learn", "m", "--data=d", "strategy=ER"], "strategy=ER: choose it by --str"),
        (["learn", "", "--data", "d"], "MODEL: the name is empty"),
        (["update", "m", "--data", "d", "grow"], "'grow' is not a setting: write key"),
        (["report", ""], "RUNS: the name is empty"),
        (["report", "runs", "--html", ""], "--html: the name is empty"),
        (["report", "runs", "--markdown="], "--markdown: the name is empty"),
    ],
)
def test_the_answer_says_what_to_write(
    arguments: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert answer in capsys.readouterr().err


@pytest.mark.parametrize("benchmark", ["arrays", "folders"])
def test_data_that_do_not_exist(benchmark: str, tmp_path: Path) -> None:
    options = {"data": str(tmp_path / "nowhere"), "output": str(tmp_path)}
    with pytest.raises(SettingsError, match=r"there is no folder .*nowhere"):
        run(resolve("ER", benchmark, options=options))


def test_an_order_without_names(tmp_path: Path) -> None:
    for name in ("a", "b"):
        x, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
        np.savez(tmp_path / f"{name}.npz", x=x, y=y)
    options = {"data": str(tmp_path), "order": ",", "output": str(tmp_path)}
    with pytest.raises(
        SettingsError, match=r"order=,: it names no domain; .* has a, b"
    ):
        run(resolve("ER", "arrays", options=options))


def test_a_config_is_read_before_its_settings_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("strategy: ER\nbenchmark: hd_balls\nlr: 0.125\n")
    assert main(["--config", str(file), "--list"]) == 0
    assert "lr = 0.125" in capsys.readouterr().out
    file.write_text("lr: 0.125\n")
    assert main(["--config", str(file), "--list"]) == 0
    assert "strategies\n" in capsys.readouterr().out
    assert main(["--config", str(tmp_path / "gone.yaml"), "--list"]) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("lrr: 0.125\n", "there is no setting 'lrr': did you mean lr?"),
        ("strategy: ERR\n", "there is no strategy 'ERR'"),
        ("benchmark: hd_ball\n", "there is no benchmark 'hd_ball'"),
        ("lr: 0.1\nlr: 0.2\n", "lr is written twice"),
    ],
)
def test_a_config_that_names_nothing_known(
    text: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    assert main(["--config", str(file), "--list"]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"threads": 100_000}, "threads=100000: this machine has"),
        ({"hidden": 10_000_000}, "hidden=10000000: the model needs at least"),
    ],
)
def test_what_the_machine_cannot_do(
    change: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    options = {**TINY, **change, "output": str(tmp_path)}
    with pytest.raises(SettingsError, match=reason):
        run(resolve("ER", "hd_balls", options=options))


@pytest.mark.parametrize("setting", ["dimensions", "train_per_domain"])
def test_data_that_do_not_fit_into_the_memory(
    setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"{key}={value}" for key, value in TINY.items() if key != setting]
    arguments = [*PAIR, *options, f"{setting}={10**12}", f"--output={tmp_path}"]
    assert main(arguments) == 1
    assert "the memory of this machine does not suffice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "code", "reason"),
    [
        ("threads=100000", 2, "threads=100000: this machine has"),
        ("hidden=10000000", 1, "the memory of this machine does not suffice"),
    ],
)
def test_a_model_that_the_machine_cannot_make(
    change: str,
    code: int,
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    x, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    np.savez(tmp_path / "a.npz", x=x, y=y)
    learn = ["learn", str(tmp_path / "model"), "--data", str(tmp_path / "a.npz")]
    assert main([*learn, "--strategy=Fine-tune", change]) == code
    assert reason in capsys.readouterr().err


@pytest.fixture
def photos(tmp_path: Path, write_tree: Callable[..., Path]) -> dict[str, Any]:
    counts = {name: {"cat": 8, "dog": 8} for name in ("2021", "2022")}
    data = write_tree(tmp_path / "photos", counts)
    small = {"network": "resnet18", "image_size": 32, "epochs": 1, "threads": 1}
    return {"data": str(data), "output": str(tmp_path / "runs"), "memory": 4, **small}


def test_a_single_sample_and_batch_norm(photos: dict[str, Any]) -> None:
    settings = resolve("ER", "folders", options={**photos, "batch_size": 1})
    with pytest.raises(SettingsError, match="batch_size=1: this model has BatchNorm"):
        run(settings)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_damaged_image_that_nobody_looked_for(
    workers: int, photos: dict[str, Any]
) -> None:
    for kind in ("cat", "dog"):
        for file in Path(photos["data"], "2022", kind).iterdir():
            file.write_bytes(file.read_bytes()[:60])
    options = {**photos, "check": False, "workers": workers, "batch_size": 4}
    with pytest.raises(RunError, match=r"\.png: not a whole image .*\nRepair") as error:
        run(resolve("ER", "folders", options=options))
    assert str(error.value).count("\n") == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("strategies:\nbenchmarks: [hd_balls]\n", "strategies is empty: name them"),
        (
            "strategies: [ER]\nbenchmarks: [hd_balls]\nsettings:\n"
            + "".join(f"  {k}: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n" for k in "abcdefg"),
            "10,000,000 combinations are more than 100,000",
        ),
        (
            "strategies: [ER]\nbenchmarks: [hd_balls]\n"
            "seeds: {from: 0, to: 9, steps: 1000000000}\n",
            "1,000,000,000 steps are more than 100,000",
        ),
        (
            "strategies: [ER]\nbenchmarks: [hd_balls]\n"
            "seeds: {from: 0, to: 9999, steps: 10000}\n"
            "memory: {from: 20, to: 9999, steps: 10000}\n",
            "100,000,000 runs are more than 100,000",
        ),
        ("[" * 20_000, "nested too deeply"),
        (
            "strategies: [ER]\nbenchmarks: [hd_balls]\nstrategies: [UDIL]\n",
            "strategies is written twice",
        ),
    ],
)
def test_a_sweep_is_counted_before_it_is_made(
    text: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(text)
    assert main(["sweep", str(file), "--list"]) == 2
    assert reason in capsys.readouterr().err


def test_a_finished_run_of_another_method_is_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {**TINY, "output": str(tmp_path), "hidden": 8}
    settings = resolve("ER", "hd_balls", options=options)
    result = run(settings)
    as_settings = {**result["settings"], "strategy": "DER++"}
    other = {**result, "strategy": "DER++", "settings": as_settings}
    RunFolder.of(settings).finish(other)
    capsys.readouterr()
    given = [f"{key}={value}" for key, value in options.items()]
    assert main([*PAIR, *given]) == 1
    shown = capsys.readouterr()
    assert "it is of DER++, not of ER" in shown.err.replace("\n", " "), shown.err
    assert "average accuracy" not in shown.out
