import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from udil_avalanche.errors import RunError
from udil_avalanche.files import atomic_write, write_text
from udil_avalanche.recipes import RunSettings, as_dict
from udil_avalanche.recipes.identity import fingerprint
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.run_folder import RunFolder, plain


@pytest.fixture
def settings(tmp_path: Path) -> RunSettings:
    return resolve("UDIL", "hd_balls", options={"output": str(tmp_path / "runs")})


def contents(folder: RunFolder) -> set[str]:
    return {file.name for file in folder.path.iterdir()}


def test_the_folder_is_named_after_its_settings(settings: RunSettings) -> None:
    path = RunFolder.of(settings.model_copy(update=dict(memory=200, seed=3))).path
    assert path.parent == Path(settings.output, "hd_balls")
    assert path.name.startswith("UDIL-m200-s3-")
    assert len(path.name) == len("UDIL-m200-s3-") + 8


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"lr": 0.25}, {"train_per_domain": 9}, {"dimensions": 9}]
)
def test_settings_with_an_effect_have_a_folder_of_their_own(
    change: dict[str, float], settings: RunSettings
) -> None:
    assert fingerprint(settings.model_copy(update=change)) != fingerprint(settings)


@pytest.mark.parametrize(
    "change", [{"output": "x"}, {"data": "x"}, {"device": "cuda"}, {"threads": 1}]
)
def test_where_a_run_takes_place_does_not_matter(
    change: dict[str, object], settings: RunSettings
) -> None:
    assert fingerprint(settings.model_copy(update=change)) == fingerprint(settings)


def test_a_run_is_begun_then_done(settings: RunSettings) -> None:
    folder = RunFolder.of(settings)
    assert not folder.is_begun
    folder.begin(settings)
    assert folder.is_begun and not folder.is_done
    assert contents(folder) == {"settings.yaml", "versions.json"}
    folder.finish({"avg_acc": 87.5})
    assert folder.is_done
    assert folder.result() == {"avg_acc": 87.5}
    assert contents(folder) == {"settings.yaml", "versions.json", "result.json", "done"}


def test_the_settings_in_the_folder_describe_the_same_run(
    settings: RunSettings,
) -> None:
    settings = settings.model_copy(update=dict(seed=5, lr=0.125, train_per_domain=None))
    folder = RunFolder.of(settings)
    folder.begin(settings)
    again = resolve(config_file=folder.path / "settings.yaml")
    assert RunFolder.of(again).path == folder.path


def test_an_unfinished_run_leaves_nothing_to_the_next(settings: RunSettings) -> None:
    folder = RunFolder.of(settings)
    folder.begin(settings)
    folder.write_metrics([{"domain": 1}])
    folder.tensorboard.mkdir()
    folder.begin(settings)
    assert contents(folder) == {"settings.yaml", "versions.json"}


def test_metrics_are_one_line_each(settings: RunSettings) -> None:
    folder = RunFolder.of(settings)
    folder.begin(settings)
    first = {"domain": 1, "forgetting": math.nan}
    folder.write_metrics([first])
    folder.write_metrics([first, {"domain": 2, "forgetting": 1.5}])
    lines = (folder.path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"domain": 1, "forgetting": None},
        {"domain": 2, "forgetting": 1.5},
    ]


def test_the_versions_say_what_the_run_was_made_with(settings: RunSettings) -> None:
    folder = RunFolder.of(settings)
    folder.begin(settings)
    versions = json.loads((folder.path / "versions.json").read_text())
    packages = {"udil_avalanche", "torch", "torchvision", "avalanche-lib", "numpy"}
    machine = {"platform", "cpu", "cpus"}
    assert packages | machine | {"python", "commit"} == versions.keys()


def test_a_failure_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text("before")
    with pytest.raises(RuntimeError), atomic_write(file) as unfinished:
        unfinished.write_text("half of wh")
        raise RuntimeError
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    with atomic_write(file) as unfinished:
        unfinished.write_text("half of ")
        assert not file.exists()
        unfinished.write_text("the whole")
    assert file.read_text() == "the whole"
    assert list(tmp_path.iterdir()) == [file]


def test_numbers_that_json_lacks_become_null() -> None:
    matrix = [[1.0, math.nan], (math.inf, -math.inf)]
    written = plain({"matrix": matrix, "name": "a", "count": 2, "none": None})
    assert written == {
        "matrix": [[1.0, None], [None, None]],
        "name": "a",
        "count": 2,
        "none": None,
    }


def test_a_run_is_checked_by_the_sums_in_its_mark(settings: RunSettings) -> None:
    folder = RunFolder.of(settings)
    folder.begin(settings)
    folder.finish({"avg_acc": 1.0})
    folder.check()
    sums = (folder.path / "done").read_text().splitlines()
    assert [line.split("  ")[1] for line in sums] == [
        "result.json",
        "settings.yaml",
        "versions.json",
    ]
    (folder.path / "versions.json").unlink()
    with pytest.raises(RunError, match=r"versions\.json: No such file"):
        folder.check()
    assert folder.result() == {"avg_acc": 1.0}


def result_of(settings: RunSettings, version: str = "0.1.0") -> dict[str, Any]:
    """A whole result, of 75 % after two domains."""
    return {
        **{name: getattr(settings, name) for name in ("benchmark", "strategy")},
        **{name: getattr(settings, name) for name in ("memory", "seed")},
        **{"steps": 20, "seconds": 1.5, "data": "hd_balls"},
        **{"avg_acc": 75.0, "forgetting": 10.0, "forward_transfer": None},
        "accuracy_matrix": [[90.0, 50.0], [80.0, 70.0]],
        "settings": as_dict(settings),
        "versions": {"udil_avalanche": version},
    }


def test_a_run_of_the_first_version_needs_no_checksums(settings: RunSettings) -> None:
    folder = RunFolder.of(settings)
    folder.begin(settings)
    folder.finish(result_of(settings))
    (folder.path / "done").write_text("")
    folder.check()
    assert folder.result()["avg_acc"] == 75.0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"avg_acc": 948.5}, "avg_acc is not a percentage"),
        ({"avg_acc": 94.85}, "avg_acc does not follow from the accuracies"),
        ({"avg_acc": None}, "avg_acc does not follow from the accuracies"),
        ({"forgetting": 1.0}, "forgetting does not follow"),
        ({"seconds": "long"}, "seconds is not a number"),
        ({"strategy": "ER"}, "strategy is not that of its settings"),
        ({"accuracy_matrix": [[1.0, 2.0]]}, "not a square matrix"),
        ({"versions": {"udil_avalanche": "0.2.0"}}, "done has no checksums"),
        ({"versions": "0.1"}, "done has no checksums"),
    ],
)
def test_an_emptied_mark_does_not_hide_an_altered_result(
    change: dict[str, Any], reason: str, settings: RunSettings
) -> None:
    folder = RunFolder.of(settings)
    folder.begin(settings)
    folder.finish(result_of(settings) | change)
    (folder.path / "done").write_text("")
    with pytest.raises(RunError, match=reason):
        folder.result()


@pytest.mark.parametrize("name", ["notes  of mine.txt", "notes.txt", "mine.png"])
def test_files_of_others_are_left_alone(name: str, settings: RunSettings) -> None:
    folder = RunFolder.of(settings)
    folder.begin(settings)
    mine = folder.path / name
    mine.write_text("first thoughts")
    folder.begin(settings)
    assert mine.read_text() == "first thoughts"
    folder.finish({"avg_acc": 1.0})
    assert name not in (folder.path / "done").read_text()
    mine.write_text("second thoughts")
    folder.check()
    assert folder.result() == {"avg_acc": 1.0}


def test_files_of_others_that_an_earlier_version_summed(settings: RunSettings) -> None:
    folder = RunFolder.of(settings)
    folder.begin(settings)
    folder.finish({"avg_acc": 1.0})
    with (folder.path / "done").open("a") as mark:
        mark.write(f"{'0' * 64}  notes  of mine.txt\n")
    folder.check()
    assert folder.result() == {"avg_acc": 1.0}


def test_a_missing_picture_is_a_warning(
    settings: RunSettings, caplog: pytest.LogCaptureFixture
) -> None:
    folder = RunFolder.of(settings)
    folder.begin(settings)
    (folder.path / "bound.png").write_bytes(b"picture")
    folder.finish({"avg_acc": 1.0})
    (folder.path / "bound.png").unlink()
    folder.check()
    assert "bound.png is missing" in caplog.text
    (folder.path / "bound.png").write_bytes(b"another")
    with pytest.raises(RunError, match=r"bound\.png was altered"):
        folder.check()


def test_what_a_kill_left_half_written_is_not_sealed(settings: RunSettings) -> None:
    folder = RunFolder.of(settings)
    folder.begin(settings)
    (folder.path / f".result.json.{'0a' * 16}.tmp").write_text("half of wh")
    (folder.path / ".mine.tmp").write_text("not a run's")
    folder.finish({"avg_acc": 1.0})
    assert "tmp" not in (folder.path / "done").read_text()
    assert [file.name for file in folder.path.glob(".*.tmp")] == [".mine.tmp"]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    target, link = tmp_path / "elsewhere" / "target.txt", tmp_path / "link.txt"
    target.parent.mkdir()
    target.write_text("before")
    target.chmod(0o600)
    link.symlink_to(target)
    write_text(link, "after")
    assert link.is_symlink() and target.read_text() == "after"
    assert target.stat().st_mode & 0o777 == 0o600


def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        write_text(pipe, "text")
    assert pipe.is_fifo()
    with pytest.raises(OSError, match="is a folder"):
        write_text(tmp_path, "text")


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(OSError, match="a link to itself"):
        write_text(link, "text")


@pytest.mark.parametrize("name", ["done", "result.json", "settings.yaml"])
def test_a_pipe_in_the_folder_is_not_waited_for(
    name: str, settings: RunSettings
) -> None:
    folder = RunFolder.of(settings)
    folder.begin(settings)
    folder.finish({"avg_acc": 1.0})
    (folder.path / name).unlink()
    os.mkfifo(folder.path / name)
    with pytest.raises(RunError, match=f"{name}.*(regular file|cannot be read)"):
        folder.check()
        folder.check_settings(settings)


def test_a_mark_does_not_lead_outside(settings: RunSettings, tmp_path: Path) -> None:
    folder = RunFolder.of(settings)
    folder.begin(settings)
    folder.finish({})
    (folder.path / "done").write_text(f"{'0' * 64}  ../../secret\n")
    with pytest.raises(RunError, match="done cannot be read"):
        folder.result()


def test_settings_are_those_that_the_run_was_begun_with(settings: RunSettings) -> None:
    folder = RunFolder.of(settings)
    folder.begin(settings)
    folder.check_settings(
        settings.model_copy(update=dict(device="cuda", save_every=1.0))
    )
    with pytest.raises(RunError, match="seed=0, not seed=1") as error:
        folder.check_settings(settings.model_copy(update=dict(seed=1)))
    assert str(error.value).count("\n") == 1
    (folder.path / "settings.yaml").write_text("lr: [")
    with pytest.raises(RunError, match="cannot read the config file"):
        folder.check_settings(settings)
