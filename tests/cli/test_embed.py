"""The command embed."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torchvision

from udil_avalanche.cli.main import main


@pytest.fixture
def settings(tmp_path: Path) -> list[str]:
    torch.manual_seed(0)
    state = torchvision.models.get_model("shufflenet_v2_x0_5").state_dict()
    torch.save(state, tmp_path / "weights.pth")
    return [
        "network=shufflenet_v2_x0_5",
        f"weights={tmp_path / 'weights.pth'}",
        "image_size=32",
        f"cache={tmp_path / 'cache'}",
    ]


def test_features_are_written_and_learned_from(
    tmp_path: Path,
    settings: list[str],
    write_tree: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    tree = write_tree(
        tmp_path / "photos", {"a": {"x": 5, "y": 5}, "b": {"x": 5, "y": 5}}
    )
    output = str(tmp_path / "features")
    assert main(["embed", "--data", str(tree), "--output", output, *settings]) == 0
    assert capsys.readouterr().out.split() == [
        str(tmp_path / "features" / "a.npz"),
        str(tmp_path / "features" / "b.npz"),
    ]
    learn = ["--strategy", "SLDA", "--benchmark", "arrays", "--data", output]
    assert main([*learn, "--output", str(tmp_path / "runs")]) == 0


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        (["network=resnet_18"], "did you mean resnet18"),
        (["flip=true"], "cannot be mirrored"),
        (["lr_backbone=0.1"], "does not learn"),
        (["order=c"], "there is no c"),
        (["--outptu", "x"], "did you mean --output"),
    ],
)
def test_mistakes_are_answered(
    extra: list[str],
    reason: str,
    tmp_path: Path,
    settings: list[str],
    write_tree: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    tree = write_tree(tmp_path / "photos", {"a": {"x": 5, "y": 5}})
    given = ["embed", "--data", str(tree), "--output", str(tmp_path / "features")]
    named = [each.partition("=")[0] for each in extra]
    others = [each for each in settings if each.partition("=")[0] not in named]
    assert main([*given, *others, *extra]) == 2
    assert reason in capsys.readouterr().err
