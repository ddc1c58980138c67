"""Runs on the user's own data, from the command line to the run folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from udil_avalanche.cli.main import main
from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes.build import build_benchmark, build_model
from udil_avalanche.recipes.identity import fingerprint
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder

Write = Callable[..., Path]
COUNTS = {"d1": {"cat": 6, "dog": 6}, "d2": {"cat": 6, "yak": 6}}
SMALL = {"network": "shufflenet_v2_x0_5", "image_size": 32, "epochs": 1}


def save_arrays(root: Path, shape: tuple[int, ...] = (4,), domains: int = 3) -> None:
    rng = np.random.default_rng(0)
    for t in range(domains):
        y = np.arange(200) % 2
        x = rng.normal(size=(200, *shape))
        x.reshape(200, -1)[:, 0] += 6 * y + t
        np.savez(root / f"site{t + 1}.npz", x=x, y=y)


def test_arrays_are_learned_by_one_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_arrays(tmp_path)
    output = tmp_path / "runs"
    command = ["--strategy", "UDIL", "--benchmark", "arrays", "--data", str(tmp_path)]
    assert main([*command, "--output", str(output), "threads=1", "hidden=32"]) == 0
    assert f"arrays:{tmp_path.name}" in capsys.readouterr().out
    [folder] = (output / "arrays").iterdir()
    result = RunFolder(folder).result()
    assert result["avg_acc"] > 90
    assert result["domain_names"] == ["site1", "site2", "site3"]
    assert result["class_names"] == ["0", "1"]
    assert result["skipped"] == 0


@pytest.mark.parametrize("shape", [(7,), (3, 4, 5)])
def test_the_network_sizes_itself_to_the_arrays(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    save_arrays(tmp_path, shape)
    settings = resolve("ER", "arrays", options={"data": str(tmp_path)})
    benchmark = build_benchmark(settings)
    model: Any = build_model(settings, benchmark)
    assert model.encoder.body[1].in_features == np.prod(shape)
    assert model.predictor.out_features == 2


def test_folders_are_learned_by_one_command(
    tmp_path: Path, write_tree: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_tree(tmp_path / "photos", COUNTS)
    command = ["--strategy", "ER", "--benchmark", "folders", "--data", str(data)]
    small = [f"{key}={value}" for key, value in SMALL.items()]
    output = ["--output", str(tmp_path / "runs"), "threads=1", "workers=1"]
    assert main([*command, *output, *small]) == 0
    assert "folders:photos" in capsys.readouterr().out
    [folder] = (tmp_path / "runs/folders").iterdir()
    assert RunFolder(folder).result()["class_names"] == ["cat", "dog", "yak"]
    weights = load_file(folder / "model.safetensors")
    assert weights["predictor.weight"].shape == (3, 1024)

    again = [f"weights={folder}/model.safetensors", "order=d2,d1"]
    assert main([*command, *output, *small, *again]) == 0
    assert len(list((tmp_path / "runs/folders").iterdir())) == 2


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"network": "resnet81"}, "network=resnet81: torchvision has no such model"),
        ({"weights": "gone.pth"}, "weights=gone.pth: there is no such file"),
        ({"normalisation": "1,2"}, "normalisation=1,2: expected imagenet, none"),
        ({"normalisation": "0,0,0/1,1,0"}, "expected imagenet, none"),
        ({"order": "d7"}, "there is no d7"),
        ({"memory": 1}, "memory=1: too small for one sample of each of 2 domains"),
        ({"data": "nowhere"}, "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_run_is_refused_before_a_run_begins(
    options: dict[str, Any], reason: str, tmp_path: Path, write_tree: Write
) -> None:
    data = write_tree(tmp_path / "photos", COUNTS)
    plain = {**SMALL, "data": str(data), "output": str(tmp_path / "runs")}
    with pytest.raises(SettingsError, match=reason):
        run(resolve("ER", "folders", options=plain | options))
    assert not (tmp_path / "runs").exists()


def test_the_data_are_a_part_of_what_a_run_is() -> None:
    def name(benchmark: str, **options: Any) -> str:
        return fingerprint(resolve("UDIL", benchmark, options=options))

    for benchmark in ("folders", "arrays", "seq_core50"):
        assert name(benchmark, data="a") != name(benchmark, data="b")
    assert name("hd_balls", data="a") == name("hd_balls", data="b")
    assert name("folders", workers=0) == name("folders", workers=2)


def test_normalisation_by_numbers(tmp_path: Path, write_tree: Write) -> None:
    data = write_tree(tmp_path / "photos", COUNTS)
    options = {**SMALL, "data": str(data), "normalisation": "0,.5,1/1,2,4"}
    settings = resolve("ER", "folders", options=options)
    model: Any = build_model(settings, build_benchmark(settings))
    assert model.encoder.input.mean.flatten().tolist() == [0, 0.5, 1]
    assert model.encoder.input.std.flatten().tolist() == [1, 2, 4]


def test_udil_learns_seq_core50_with_resnet18(
    core50_root: Path, tmp_path: Path
) -> None:
    few = {"domains": 2, "objects": 12, "train_per_domain": 20, "epochs": 1}
    small = {"image_size": 32, "workers": 1, "threads": 1, "check": False}
    options = {**few, **small, "data": str(core50_root), "output": str(tmp_path)}
    result = run(resolve("UDIL", "seq_core50", options=options))
    assert result["data"] == "core50-sample"
    assert len(result["accuracy_matrix"]) == 2
    folder = RunFolder.of(resolve("UDIL", "seq_core50", options=options)).path
    weights = load_file(folder / "model.safetensors")
    assert weights["predictor.fc.weight"].shape == (12, 512)
