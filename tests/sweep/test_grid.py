import itertools
import re
import types
import typing
from pathlib import Path
from typing import Any

import pytest
import yaml

from udil_avalanche.cli.main import main
from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes import BENCHMARKS, METHODS, RunSettings, as_dict
from udil_avalanche.recipes.identity import fingerprint
from udil_avalanche.recipes.resolve import from_dict, resolve
from udil_avalanche.recipes.settings import FIRST_SEED_FOR_CHOOSING
from udil_avalanche.report.paper import MEMORY_SIZES, PAPER_METHODS
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.sweep.engine import cores_of
from udil_avalanche.sweep.entries import values_of
from udil_avalanche.sweep.grid import Sweep, load_sweep

SWEEPS = Path(__file__).parents[2] / "configs" / "sweeps"
SMALL = {"strategies": ["ER", "SI"], "benchmarks": "hd_balls", "seeds": [0, 1]}
SEARCH = {"trials": 2, "ranges": {"all": {"lr": [0.1, 0.2]}}}


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def load(written: Any, **keywords: Any) -> Sweep:
        file = tmp_path / "sweep.yaml"
        text = (
            written if isinstance(written, str) else yaml.dump(written, sort_keys=False)
        )
        file.write_text(text)
        return load_sweep(file, configs=tmp_path, **keywords)

    return load


def names(runs: list[RunSettings]) -> list[tuple[str, int, int]]:
    return [(run.strategy, run.memory, run.seed) for run in runs]


def test_one_seed_after_another_and_memory_only_where_there_is_one(load: Any) -> None:
    found = load({**SMALL, "memory": [50, 100]})
    assert names(found.runs) == [
        ("ER", 50, 0),
        ("SI", 0, 0),
        ("ER", 100, 0),
        ("ER", 50, 1),
        ("SI", 0, 1),
        ("ER", 100, 1),
    ]
    assert found.budget is None


def test_every_combination_of_listed_settings(load: Any) -> None:
    settings = {"lr": [0.1, 0.2], "epochs": {"from": 1, "to": 3, "steps": 3}}
    found = load({**SMALL, "strategies": ["ER"], "seeds": 0, "settings": settings})
    assert [(run.lr, run.epochs) for run in found.runs] == [
        (lr, epochs) for lr in (0.1, 0.2) for epochs in (1, 2, 3)
    ]
    assert len({RunFolder.of(run).path for run in found.runs}) == 6


def test_the_command_line_wins(load: Any) -> None:
    written = {**SMALL, "settings": {"epochs": 2, "hidden": 16}}
    found = load(written, options={"output": "there"}, overrides=["epochs=3"])
    assert {(run.epochs, run.hidden, run.output) for run in found.runs} == {
        (3, 16, "there")
    }


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (3, [3]),
        (None, [None]),
        ([1, None], [1, None]),
        ({"from": 0, "to": 1, "steps": 3}, [0, 0.5, 1]),
        (
            {"from": 0.01, "to": 100, "steps": 5, "scale": "log"},
            [0.01, 0.1, 1, 10, 100],
        ),
    ],
)
def test_values(written: Any, expected: list[Any]) -> None:
    assert values_of("lr", written) == expected


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("- ER", "must hold lines of key: value"),
        ("strategies: [", "cannot read the sweep"),
        ("seeds: 2026-99-99", "cannot read the sweep"),
        ({"strategies": "all"}, "name the benchmarks: a list, or all"),
        ({**SMALL, "strategies": ["ERR"]}, "no strategy 'ERR': did you mean ER?"),
        ({**SMALL, "sedes": [1]}, "no entry 'sedes': did you mean seeds?"),
        ({**SMALL, "seeds": []}, "seeds: the list of values is empty"),
        ({**SMALL, "settings": {"lrr": 1}}, "no setting 'lrr': did you mean lr?"),
        ({**SMALL, "settings": [1]}, "settings must hold lines of key: value"),
        (
            {**SMALL, "settings": {"lr": {"from": 1, "to": 2}}},
            "lr: write a range as {from: 0.01, to: 100, steps: 5, scale: log}",
        ),
        (
            {**SMALL, "settings": {"lr": dict(SEARCH, steps=1)}},
            "lr: write a range as",
        ),
        ({**SMALL, "search": SEARCH}, "a search runs on seeds from 100 on"),
        (
            {**SMALL, "seeds": [100], "search": {**SEARCH, "trials": 3}},
            "ER has 2 settings to try, but every method gets 3",
        ),
        (
            {**SMALL, "seeds": [100], "search": {**SEARCH, "validation": 0}},
            "validation must be above 0",
        ),
        (
            {**SMALL, "seeds": [100], "memory": [1, 2], "search": SEARCH},
            "one size of the memory",
        ),
        ({**SMALL, "seeds": [100], "search": {"trials": 1}}, "search needs ranges"),
        ({**SMALL, "seeds": [100], "search": {"ranges": {}}}, "search needs trials"),
        ({**SMALL, "seeds": [100], "search": {}}, "search needs trials"),
        (
            {**SMALL, "seeds": [100], "search": {"trials": 1, "ranges": [1]}},
            "ranges must hold lines of key: value",
        ),
        (
            {**SMALL, "seeds": [100], "search": {"trials": 1, "ranges": {"ER": "lr"}}},
            "ranges of ER must hold lines of key: value",
        ),
        (
            {**SMALL, "seeds": [100], "search": {**SEARCH, "validation": "half"}},
            "validation=half: expected a number",
        ),
        ({**SMALL, "seeds": ["a"], "search": SEARCH}, "seed=a: expected"),
        ({**SMALL, "settings": {"seed": [5, 6]}}, "settings: set seed by seeds"),
        ({**SMALL, "settings": {"threads": 4}}, "settings: set threads by --threads"),
        (
            {**SMALL, "seeds": [100], "search": {**SEARCH, "final_seeds": [1, 100]}},
            "final_seeds are reported: whole numbers below 100",
        ),
        (
            {**SMALL, "seeds": [100], "search": {**SEARCH, "domains": 0}},
            "domains of search: how many of the first ones are learned",
        ),
        (
            {**SMALL, "seeds": 100, "search": SEARCH, "settings": {"epochs": [1, 2]}},
            "in a search, the settings that vary belong in its ranges",
        ),
    ],
)
def test_a_mistake_names_the_file_and_what_to_write(
    written: Any, answer: str, load: Any
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(written)
    assert answer in str(caught.value)
    assert "sweep.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "answer"),
    [
        ("validation=0", "validation must be above 0"),
        ("seed=0", "a search runs on seeds from 100 on"),
        ("lr=0.1", "two trials of ER are the same run"),
    ],
)
def test_the_command_line_cannot_make_a_search_unfair(
    override: str, answer: str, load: Any
) -> None:
    written = {**SMALL, "seeds": [100], "search": SEARCH}
    with pytest.raises(SettingsError, match=answer):
        load(written, overrides=[override])
    assert len(load(written, overrides=["epochs=1"]).runs) == 4


@pytest.mark.parametrize(
    ("key", "ranges"),
    [
        ("data", {"data": "elsewhere", "lr": [0.1, 0.2]}),
        ("domains", {"domains": [2, 20]}),
        ("dimensions", {"dimensions": [10, 100]}),
        ("train_per_domain", {"train_per_domain": [100, 2000]}),
    ],
)
def test_a_search_compares_only_what_has_the_same_data(
    key: str, ranges: dict[str, Any], load: Any
) -> None:
    search = {"trials": 2, "ranges": {"ER": ranges, "DER++": {"lr": [0.1, 0.2]}}}
    written = {**SMALL, "strategies": ["ER", "DER++"], "seeds": 100, "search": search}
    with pytest.raises(SettingsError, match=f"only runs with the same {key}"):
        load(written)


@pytest.mark.parametrize("key", ["memory", "Output", "seed"])
def test_a_search_does_not_vary_what_a_sweep_has_a_word_for(
    key: str, load: Any
) -> None:
    search = {"trials": 2, "ranges": {"ER": {key: [1, 2]}, "SI": {"lr": [0.1, 0.2]}}}
    with pytest.raises(SettingsError, match=f"ranges: set {key.lower()} by"):
        load({**SMALL, "seeds": 100, "search": search})


def test_the_share_held_out_may_be_written_as_a_power(load: Any) -> None:
    search = "{trials: 2, validation: 1e-1, ranges: {all: {lr: [0.1, 0.2]}}}"
    names = "strategies: ER\nbenchmarks: hd_balls\nseeds: 100\n"
    assert load(f"{names}search: {search}").runs[0].validation == 0.1


def test_a_search_compares_only_equal_memories(tmp_path: Path, load: Any) -> None:
    (tmp_path / "hd_balls").mkdir()
    (tmp_path / "hd_balls" / "er.yaml").write_text("memory: 200")
    written = {**SMALL, "strategies": ["ER", "DER++"], "seeds": 100, "search": SEARCH}
    with pytest.raises(SettingsError, match="same memory; this one has 200 and 400"):
        load(written)
    assert len(load({**written, "memory": 100}).runs) == 4


def test_a_search_compares_methods_with_and_without_a_memory(load: Any) -> None:
    written = {**SMALL, "seeds": 100, "search": SEARCH}
    assert {run.memory for run in load(written).runs} == {400, 0}


def test_a_search_tries_equally_many_settings_of_every_method(load: Any) -> None:
    ranges = {
        "all": {"lr": [0.05, 0.1, 0.2]},
        "ER": {"memory_batch": [16, 32, 64, 128]},
        "SI": {"c": [0.1, 1]},
    }
    search = {"trials": 5, "ranges": ranges}
    written = {**SMALL, "seeds": [100, 101], "memory": 40, "search": search}
    found = load(written)
    er, si = (
        [run for run in found.runs if run.strategy == strategy]
        for strategy in ("ER", "SI")
    )
    assert len(er) == len(si) == 5 * 2
    assert {run.validation for run in found.runs} == {0.1}
    assert len({(run.lr, run.memory_batch) for run in er}) == 5
    assert len({(run.lr, run.c) for run in si}) == 5
    first, second = (list(map(as_dict, load(written).runs)) for _ in range(2))
    assert first == second, "the draw is always the same"


@pytest.fixture(scope="module")
def of_the_project() -> dict[Path, list[RunSettings]]:
    return {file: load_sweep(file).runs for file in SWEEPS.glob("*.yaml")}


def test_every_sweep_of_the_project_says_how_many_runs_it_has(
    of_the_project: dict[Path, list[RunSettings]],
) -> None:
    for file, runs in of_the_project.items():
        count = int(file.read_text().partition(" runs.")[0].split()[-1])
        assert len(runs) == count, file.name


def test_the_sweeps_cover_the_tables_of_the_paper(
    of_the_project: dict[Path, list[RunSettings]],
) -> None:
    planned = {
        (run.benchmark, run.memory, run.strategy, run.seed)
        for runs in of_the_project.values()
        for run in runs
        if not run.validation
        and run.seed < FIRST_SEED_FOR_CHOOSING
        and run.benchmark in MEMORY_SIZES
    }
    # The paper has HD-Balls with 400 only; the sweeps have it with all sizes.
    sizes = {**MEMORY_SIZES, "hd_balls": [200, 400, 800]}
    three_seeds = {
        (benchmark, memory if METHODS[method].has_memory else 0, method, seed)
        for benchmark in ("hd_balls", "permuted_mnist", "rotated_mnist", "seq_core50")
        for memory in sizes[benchmark]
        for method in PAPER_METHODS
        for seed in range(3)
    }
    two_more = {
        (benchmark, 400, method, seed)
        for benchmark in ("hd_balls", "permuted_mnist", "rotated_mnist")
        for method in ("UDIL", "DER++", "CLS-ER", "ESM-ER")
        for seed in (3, 4)
    }
    assert planned == three_seeds | two_more


@pytest.mark.parametrize("memory", [200, 400, 800])
def test_udil_has_two_rows_at_every_size(
    memory: int, of_the_project: dict[Path, list[RunSettings]]
) -> None:
    """By its default, and by what was searched for each benchmark."""
    name = "main_table" if memory == 400 else f"memory_{memory}"
    runs = of_the_project[SWEEPS / f"{name}.yaml"]
    expected = []
    for benchmark in ("hd_balls", "permuted_mnist", "rotated_mnist"):
        tuned = SWEEPS.parent / "tuned" / benchmark / "udil.yaml"
        for seed, file in itertools.product(range(3), (None, tuned)):
            options = {"memory": memory, "seed": seed}
            expected.append(
                fingerprint(
                    resolve("UDIL", benchmark, config_file=file, options=options)
                )
            )
    found = [fingerprint(run) for run in runs if run.strategy == "UDIL"]
    assert sorted(found) == sorted(expected) and len(set(found)) == 18


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Files of settings: the usual one of ER, and others of ER and SI."""
    for name, lr in {
        "hd_balls/er": 0.3,
        "a/hd_balls/er": 0.4,
        "b/hd_balls/si": 2,
    }.items():
        file = tmp_path / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"lr: {lr}\nepochs: 3\n" if lr == 0.3 else f"lr: {lr}\n")
    return tmp_path


def test_several_folders_of_configs(folders: Path, load: Any) -> None:
    """A method goes by those that have a file for it; the usual ones lie below."""
    written = {**SMALL, "seeds": 0, "configs": ["default", "a", str(folders / "b")]}
    sweep = load(written)
    by_variant = {
        (run.strategy, sweep.cells[RunFolder.of(run).path].variant): (
            run.lr,
            run.epochs,
        )
        for run in sweep.runs
    }
    assert by_variant == {
        ("ER", ""): (0.3, 3),
        ("ER", "a"): (0.4, 3),
        ("SI", ""): (0.5, 10),
        ("SI", "b"): (2, 10),
    }


@pytest.mark.parametrize(
    ("configs", "answer"),
    [
        ("a", "a has no file for SI on hd_balls"),
        (["a", "c"], "there is no folder c"),
        (["a", "a"], "the same folder is named twice"),
        ([], "configs: the list of values is empty"),
    ],
)
def test_folders_of_configs_that_cannot_be_used(
    configs: Any, answer: str, folders: Path, load: Any
) -> None:
    with pytest.raises(SettingsError, match=answer):
        load({**SMALL, "configs": configs})
    with pytest.raises(SettingsError, match="from one folder of configs"):
        load({**SMALL, "seeds": 100, "search": SEARCH, "configs": ["none", "default"]})


def test_the_examples_of_the_page_on_sweeps_can_be_run(tmp_path: Path) -> None:
    page = (SWEEPS.parents[1] / "docs" / "sweeps.md").read_text()
    examples = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    counts = []
    for example in examples:
        file = tmp_path / "example.yaml"
        file.write_text(example)
        counts.append(len(load_sweep(file).runs))
    assert counts == [2 * 2 * 3 * 3 * 3, 2 * 2 * 2, 2 * 2, 3, 2 * 6 * 2, 2 * 3]


def test_null_is_a_value(load: Any) -> None:
    settings = {"clip_norm": [None, 1]}
    runs = load({**SMALL, "strategies": "ER", "settings": settings}).runs
    assert [run.clip_norm for run in runs] == [None, 1, None, 1]


@pytest.mark.parametrize("strategy", METHODS)
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_settings_reach_a_worker_as_they_are(strategy: str, benchmark: str) -> None:
    configured = resolve(strategy, benchmark)
    settings = configured.model_copy(
        update={
            name: None
            for name, field in type(configured).model_fields.items()
            if types.NoneType in typing.get_args(field.annotation)
        },
    )
    assert settings.clip_norm is None
    assert as_dict(from_dict(as_dict(settings))) == as_dict(settings)


@pytest.mark.parametrize(("benchmark", "expected"), [("hd_balls", 3), ("folders", 5)])
def test_a_run_takes_a_core_for_each_thread_and_each_process_that_loads_images(
    benchmark: str, expected: int, load: Any
) -> None:
    written = {"strategies": "ER", "benchmarks": benchmark}
    [run] = load(written, options={"threads": 3}).runs
    assert cores_of(run) == expected


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["--address", "127.0.0.1:1"], "--address is an option of --engine ray"),
        (["--gpus", "0"], "--gpus is an option of --engine ray"),
        (["--engine", "ray", "--workers", "2"], "an option of --engine local"),
        (["--engine", "ray", "--cpus", "-1"], "--cpus: -1 is not a number from 0 on"),
        (["--engine", "ray", "--gpus", "nan"], "--gpus: nan is not a number from 0 on"),
        (["--engine", "ray", "--gpus", "two"], "--gpus: two is not a number from 0 on"),
        (["--workers", "0"], "--workers: 0 is not a whole number from 1 on"),
        (["--threads", "two"], "--threads: two is not a whole number from 1 on"),
    ],
)
def test_options_of_the_other_engine_and_amounts_that_are_none_are_refused(
    arguments: list[str],
    answer: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(yaml.dump(SMALL))
    assert main(["sweep", str(file), *arguments]) == 2
    assert answer in capsys.readouterr().err


def test_the_threads_of_a_run_are_an_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(yaml.dump(SMALL))
    assert main(["sweep", str(file), "--list", "Threads=2"]) == 2
    assert "--threads N" in capsys.readouterr().err
