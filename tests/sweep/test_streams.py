from pathlib import Path
from typing import Any

import pytest
import yaml

from udil_avalanche.cli.main import main
from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.sweep.grid import Sweep, load_sweep

STREAMS = {
    "few balls": {"benchmark": "hd_balls", "domains": 3, "memory": 30},
    "drift": {"benchmark": "arrays", "data": "there", "validation": 0.2, "memory": 20},
}
SMALL = {"strategies": ["UDIL", "SI"], "seeds": [100, 101], "streams": STREAMS}
ONE = {"strategies": "UDIL", "benchmarks": "hd_balls"}
VARIANTS = {"default": {}, "with V_s": {"lambda_s": 0.03}}


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def load(written: dict[str, Any], **keywords: Any) -> Sweep:
        file = tmp_path / "sweep.yaml"
        file.write_text(yaml.dump(written, sort_keys=False))
        return load_sweep(file, **{"configs": tmp_path, **keywords})

    return load


def cells(sweep: Sweep) -> list[tuple[int, str]]:
    return [(r.seed, str(sweep.cells[RunFolder.of(r).path])) for r in sweep.runs]


def test_every_method_learns_every_stream_with_every_seed(load: Any) -> None:
    sweep = load(SMALL)
    assert sweep.has_streams
    assert cells(sweep) == [
        (seed, f"{method} on {stream}")
        for seed in (100, 101)
        for stream in ("few balls", "drift")
        for method in ("UDIL", "SI")
    ]
    balls, _, drift, _, *_ = sweep.runs
    expected = {"domains": 3, "memory": 30, "seed": 100}
    assert balls == resolve("UDIL", "hd_balls", options=expected, configs=None)
    expected = {"data": "there", "validation": 0.2, "memory": 20, "seed": 100}
    assert drift == resolve("UDIL", "arrays", options=expected, configs=None)


def test_a_method_goes_without_a_setting_that_only_others_have(load: Any) -> None:
    streams = {"balls": {"benchmark": "hd_balls", "memory": 50, "lambda_d": 7}}
    udil, si = load({**SMALL, "seeds": 100, "streams": streams}).runs
    assert (udil.memory, udil.lambda_d) == (50, 7)
    assert si == resolve("SI", "hd_balls", options={"seed": 100}, configs=None)


def test_two_streams_may_have_the_same_benchmark(load: Any) -> None:
    streams = {f"{n} balls": {"benchmark": "hd_balls", "domains": n} for n in (3, 5)}
    runs = load({**SMALL, "seeds": 0, "streams": streams}).runs
    assert [run.domains for run in runs] == [3, 3, 5, 5]


def test_settings_go_to_all_streams_and_the_stream_wins(load: Any) -> None:
    streams = {**STREAMS, "wide": {"benchmark": "hd_balls", "hidden": 64}}
    runs = load({**SMALL, "streams": streams, "settings": {"hidden": 16}}).runs
    assert [run.hidden for run in runs] == [16, 16, 16, 16, 64, 64] * 2
    [*runs] = load({**SMALL, "streams": streams}, overrides=["hidden=8"]).runs
    assert {run.hidden for run in runs} == {8}


def test_methods_by_their_defaults(tmp_path: Path, load: Any) -> None:
    (tmp_path / "hd_balls").mkdir()
    (tmp_path / "hd_balls" / "udil.yaml").write_text("lr: 0.5")
    [configured] = load(ONE).runs
    [default] = load({**ONE, "configs": "none"}).runs
    assert configured.lr == 0.5
    assert default == resolve("UDIL", "hd_balls", configs=None)


def test_variants_are_tried_on_every_stream_with_every_seed(load: Any) -> None:
    sweep = load({**SMALL, "strategies": ["UDIL"], "variants": VARIANTS})
    assert cells(sweep) == [
        (seed, f"UDIL ({variant}) on {stream}")
        for seed in (100, 101)
        for stream in ("few balls", "drift")
        for variant in ("default", "with V_s")
    ]
    assert [run.lambda_s for run in sweep.runs] == [0, 0.03] * 4


def test_a_variant_wins_over_the_stream_and_the_settings(load: Any) -> None:
    streams = {"balls": {"benchmark": "hd_balls", "memory": 50, "lambda_d": 7}}
    written = {**SMALL, "strategies": "UDIL", "seeds": 0, "streams": streams}
    changed = {"memory": 20, "lambda_d": 0, "hidden": 8}
    variants = {"default": None, "changed": changed}
    first, second = load(
        {**written, "variants": variants, "settings": {"hidden": 16}}
    ).runs
    assert (first.memory, first.lambda_d, first.hidden) == (50, 7, 16)
    assert (second.memory, second.lambda_d, second.hidden) == (20, 0, 8)


def test_variants_on_benchmarks(load: Any) -> None:
    sweep = load({**ONE, "variants": VARIANTS})
    assert [cell for _, cell in cells(sweep)] == [
        "UDIL (default) on hd_balls",
        "UDIL (with V_s) on hd_balls",
    ]
    assert not sweep.has_streams


def changed(**settings: Any) -> dict[str, Any]:
    return {"strategies": ["UDIL", "SI"], "streams": {"a": settings}}


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ({**SMALL, "benchmarks": "all"}, "streams and benchmarks do not go together"),
        ({**SMALL, "memory": 50}, "streams and memory do not go together: set the"),
        ({**SMALL, "search": {}}, "streams and search do not go together"),
        ({**SMALL, "streams": ["a"]}, "streams must hold lines of key: value"),
        ({**SMALL, "streams": None}, "streams needs a line of name: {benchmark:"),
        ({**SMALL, "streams": {"a": "hd_balls"}}, "stream a must hold lines of key:"),
        (changed(domains=3), "stream a: name its benchmark"),
        (changed(benchmark="hdbals"), "no benchmark 'hdbals': did you mean hd_balls?"),
        (changed(benchmark="hd_balls", seed=1), "stream a: set seed by seeds"),
        (changed(benchmark="hd_balls", strategy="ER"), "a: set strategy by strategies"),
        (changed(benchmark="hd_balls", Threads=1), "a: set threads by --threads"),
        (changed(benchmark="hd_balls", output="x"), "a: set output by --output"),
        (changed(benchmark="hd_balls", domains=[2, 3]), "a: domains has one value"),
        (changed(benchmark="hd_balls", domians=3), "stream a: there is no setting"),
        (
            changed(benchmark="hd_balls", margin=3),
            "stream a: UDIL on hd_balls has no setting 'margin': it belongs to GEM",
        ),
        (changed(benchmark="hd_balls", domains="x"), "domains=x: expected a whole"),
        (
            {**SMALL, "streams": {"a": STREAMS["drift"], "b": STREAMS["drift"]}},
            "UDIL on a and UDIL on b are the same run",
        ),
        (
            {**SMALL, "settings": {"hidden": [8, 16]}},
            "with streams, settings that vary belong in variants",
        ),
        ({**ONE, "configs": "some"}, "configs: write none for the defaults"),
        ({**ONE, "configs": None}, "configs: write none for the defaults"),
        ({**ONE, "variants": {}}, "variants needs a line of name: {setting: value"),
        ({**ONE, "variants": ["a"]}, "variants must hold lines of key: value"),
        ({**ONE, "variants": {"a": 1}}, "variant a must hold lines of key: value"),
        ({**ONE, "variants": {"a": {"seed": 1}}}, "variant a: set seed by seeds"),
        ({**ONE, "variants": {"a": {"lr": [1, 2]}}}, "variant a: lr has one value"),
        ({**ONE, "variants": {"a": {"lrr": 1}}}, "no setting 'lrr': did you mean lr?"),
        ({**ONE, "variants": VARIANTS, "search": {}}, "variants and search do not go"),
        (
            {**ONE, "variants": {**VARIANTS, "again": {"lambda_s": "3e-2"}}},
            "UDIL (with V_s) on hd_balls and UDIL (again) on hd_balls are the same",
        ),
    ],
)
def test_a_mistake_names_the_file_and_what_to_write(
    written: dict[str, Any], answer: str, load: Any
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(written)
    assert answer in str(caught.value)
    assert "sweep.yaml" in str(caught.value)


def test_a_variant_that_the_command_line_makes_equal_is_refused(load: Any) -> None:
    with pytest.raises(SettingsError, match=r"\(default\).*\(with V_s\).* same run"):
        load({**ONE, "variants": VARIANTS}, overrides=["lambda_s=0.5"])


def test_the_list_says_stream_and_variant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(yaml.dump({**SMALL, "strategies": "UDIL", "variants": VARIANTS}))
    assert main(["sweep", str(file), "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    expected = "left  UDIL (with V_s) on few balls, memory 30, seed 100  runs/"
    assert sum(line.startswith(expected) for line in lines) == 1


def test_the_lines_of_a_sweep_say_stream_and_variant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    streams = {
        "few balls": {"benchmark": "hd_balls", "domains": 2, "memory": 10},
    }
    tiny = {"train_per_domain": 16, "test_per_domain": 16, "hidden": 4, "dimensions": 4}
    written = {"strategies": "ER", "streams": streams, "settings": tiny}
    variants = {"default": {}, "slow": {"lr": 0.01}}
    file = tmp_path / "sweep.yaml"
    file.write_text(yaml.dump({**written, "variants": variants}, sort_keys=False))
    arguments = ["--output", str(tmp_path / "runs"), "--workers", "1"]
    assert main(["sweep", str(file), *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1/2 ER (default) on few balls, memory 10, seed 0: ")
    assert lines[1].startswith("2/2 ER (slow) on few balls, memory 10, seed 0: ")
