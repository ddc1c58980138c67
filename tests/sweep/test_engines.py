"""The same small sweep by both engines, on real runs and with real losses."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from udil_avalanche.cli.main import main
from udil_avalanche.errors import RunError
from udil_avalanche.recipes import RunSettings
from udil_avalanche.runs.run_folder import LOCK_FILE, RunFolder
from udil_avalanche.sweep.engine import Finished, Started, cores
from udil_avalanche.sweep.grid import load_sweep
from udil_avalanche.sweep.ray_engine import run_on_ray

SCRIPT = Path(__file__).parents[2] / "run_experiments.py"
NOT_THE_RESULT = {"seconds", "seconds_saving", "peak_memory_mb"}


@pytest.fixture(scope="module")
def small_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of seconds."""
    file = tmp_path_factory.mktemp("sweep") / "small.yaml"
    data = {"domains": 3, "train_per_domain": 256, "test_per_domain": 100}
    model = {"hidden": 16, "dimensions": 10, "epochs": 20}
    written = {
        "strategies": ["UDIL"],
        "benchmarks": ["hd_balls"],
        "memory": 30,
        "seeds": [0, 1, 2],
        "settings": {**data, **model},
    }
    file.write_text(yaml.dump(written))
    return file


def command(file: Path, *options: str) -> list[str]:
    return [sys.executable, str(SCRIPT), "sweep", str(file), *options]


def started(
    file: Path, folder: Path, engine: str, *options: str
) -> subprocess.Popen[str]:
    """A sweep in its own process group. Ray is not imported here: it would read the
    environment before the cluster below has set it."""
    if engine == "ray" and find_spec("ray") is None:
        pytest.skip("Ray is an extra: pip install -e '.[ray]'")
    return subprocess.Popen(
        command(file, f"--engine={engine}", *options),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SCRIPT.parent)},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def results(output: Path) -> dict[str, Any]:
    """The results of the runs, except time and memory."""
    found = {}
    for file in output.rglob("result.json"):
        assert (file.parent / "done").exists()
        result = json.loads(file.read_text())
        assert result["seconds"] > 0
        found[file.parent.name] = {
            key: value for key, value in result.items() if key not in NOT_THE_RESULT
        }
    return found


def first_domain_of(run: RunSettings) -> str:
    """The line that a run wrote after its first domain, including the time; waits for
    it, and for the state that is saved after it."""
    folder = RunFolder.of(run).path
    file = folder / "metrics.jsonl"
    until = time.monotonic() + 120
    saved = [folder / "state", folder / "done"]
    while not (any(map(Path.exists, saved)) and file.exists() and file.read_text()):
        assert time.monotonic() < until, "no domain was learned"
        time.sleep(0.02)
    return file.read_text().splitlines()[0]


def holder_of(run: RunSettings) -> psutil.Process:
    """The process that is using the folder of a run."""
    _, number, *_ = (RunFolder.of(run).path / LOCK_FILE).read_text().split()
    return psutil.Process(int(number))


@dataclass
class Story:
    """The outcome of a sweep that was killed and started again."""

    runs: Path
    in_the_way: Path
    outlived: list[psutil.Process]
    said: str
    exit_code: int


@pytest.fixture(scope="module")
def local(small_sweep: Path, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """The sweep by the local engine, killed once its first run is done and started
    again, with a file in the way of its last run."""
    folder = tmp_path_factory.mktemp("local")
    runs = load_sweep(small_sweep, options={"output": str(folder / "runs")}).runs
    in_the_way = RunFolder.of(runs[-1]).path
    in_the_way.parent.mkdir(parents=True)
    in_the_way.touch()
    one_at_a_time = command(small_sweep, "--workers=1")
    first = subprocess.Popen(one_at_a_time, cwd=folder)
    while not RunFolder.of(runs[0]).is_done:
        assert first.poll() is None
        time.sleep(0.05)
    workers = psutil.Process(first.pid).children(recursive=True)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    _, outlived = psutil.wait_procs(workers, timeout=30)
    for process in outlived:
        process.kill()
    again = subprocess.run(one_at_a_time, cwd=folder, capture_output=True, text=True)
    assert again.stderr == ""
    return Story(folder / "runs", in_the_way, outlived, again.stdout, again.returncode)


def test_no_worker_outlives_its_sweep(local: Story) -> None:
    assert local.outlived == []


def test_started_again_a_sweep_goes_on(local: Story) -> None:
    assert "2 done (1 before), 0 running, 0 left, 1 failed" in local.said
    assert len(results(local.runs)) == 2


def test_a_run_that_fails_stops_no_other_and_is_reported(local: Story) -> None:
    assert local.exit_code == 1
    *_, last = local.said.splitlines()
    log = local.in_the_way.with_name(f"{local.in_the_way.name}.log")
    assert last.startswith("failed: UDIL on hd_balls, memory 30, seed 2: ")
    assert f"{local.in_the_way.name}" in last
    assert "Traceback" in log.read_text()
    succeeded = list(local.runs.rglob("*-s1-*"))
    assert [path.suffix for path in succeeded] == [""], "without its messages"


@pytest.mark.parametrize(
    ("engine", "number"),
    [
        ("local", signal.SIGINT),
        pytest.param("local", signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param("ray", signal.SIGINT, marks=pytest.mark.slow),
    ],
)
def test_a_sweep_that_is_stopped_lets_its_runs_save(
    engine: str, number: signal.Signals, small_sweep: Path, tmp_path: Path
) -> None:
    """The signal goes to the whole group, as Ctrl-C on a terminal does."""
    endless = ["epochs=1000000", "save_every=1000000"]
    [run, *_] = load_sweep(
        small_sweep, options={"output": str(tmp_path / "runs")}, overrides=endless
    ).runs
    sweep = started(small_sweep, tmp_path, engine, *endless)
    folder = RunFolder.of(run)
    while not folder.tensorboard.exists():
        assert sweep.poll() is None
        time.sleep(0.05)
    time.sleep(2)
    os.killpg(sweep.pid, number)
    _, said = sweep.communicate(timeout=120)
    assert sweep.returncode == 128 + number, said
    assert "the same command resumes" in said
    assert list(folder.state.glob("0*"))


def test_a_sweep_that_is_stopped_twice_waits_for_nothing(
    small_sweep: Path, tmp_path: Path
) -> None:
    """One of its runs does not answer."""
    endless = "epochs=1000000"
    [run, *_] = load_sweep(
        small_sweep, options={"output": str(tmp_path / "runs")}, overrides=[endless]
    ).runs
    sweep = started(small_sweep, tmp_path, "local", endless, "--workers=1")
    while not RunFolder.of(run).tensorboard.exists():
        assert sweep.poll() is None
        time.sleep(0.05)
    worker = holder_of(run)
    worker.suspend()
    sweep.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert sweep.poll() is None
    sweep.send_signal(signal.SIGINT)
    _, said = sweep.communicate(timeout=30)
    assert sweep.returncode == 130
    assert "stopped at once" in said
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE


def test_what_would_run_is_listed(small_sweep: Path, local: Story) -> None:
    listed = subprocess.run(
        command(small_sweep, "--list"), cwd=local.runs.parent, capture_output=True
    )
    states = [line.split()[0] for line in listed.stdout.decode().splitlines()]
    assert states == ["done", "done", "left"]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense"])
def test_a_cluster_that_is_not_there_is_named(
    address: str, small_sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(small_sweep), "--engine=ray", f"--address={address}"]
    assert main(["sweep", *arguments]) == 2
    said = capsys.readouterr().err
    assert f"there is no Ray cluster at {address}" in said
    assert said.count("\n") == 1


@pytest.fixture(scope="module")
def on_ray(small_sweep: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of the sweep on its own Ray cluster. A run takes all cores; the worker
    of the first is asked to end after its first domain, as by a node that is about to
    be taken away."""
    folder = tmp_path_factory.mktemp("on_ray")
    runs = load_sweep(small_sweep, options={"output": str(folder / "runs")}).runs
    sweep = started(small_sweep, folder, "ray", f"--cpus={cores()}")
    first_domain = first_domain_of(runs[0])
    worker = holder_of(runs[0])
    worker.terminate()
    _, still_there = psutil.wait_procs([worker], timeout=60)
    assert still_there == [] and not RunFolder.of(runs[0]).is_done
    said, complaints = sweep.communicate(timeout=300)
    assert sweep.returncode == 0, complaints
    assert "3 done" in said
    assert first_domain_of(runs[0]) == first_domain, "it has begun from the start"
    return folder / "runs"


@pytest.mark.slow
def test_a_run_whose_worker_was_asked_to_end_is_taken_up_again(
    on_ray: Path, local: Story
) -> None:
    assert results(local.runs).items() <= results(on_ray).items()
    assert len(results(on_ray)) == 3


@pytest.mark.slow
def test_a_run_on_ray_has_its_cpus_alone(on_ray: Path) -> None:
    """None begins before the previous one is done; the first was interrupted."""
    folders = [file.parent for file in on_ray.rglob("result.json")]
    times = sorted(
        ((folder / "settings.yaml").stat().st_mtime, (folder / "done").stat().st_mtime)
        for folder in folders
    )
    _, (_, done), (begun, _) = times
    assert done < begun


def test_more_than_this_machine_has_is_refused(
    small_sweep: Path, tmp_path: Path
) -> None:
    sweep = started(small_sweep, tmp_path, "ray", "--gpus=1000")
    _, said = sweep.communicate(timeout=300)
    assert sweep.returncode == 2
    assert "no node has the 1 CPUs and 1000 GPUs that a run needs" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two nodes of a Ray cluster on this machine, each with room for one run."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    monkeypatch.setenv("PYTHONPATH", str(SCRIPT.parent))
    pytest.importorskip("ray", reason="Ray is an extra: pip install -e '.[ray]'")
    # Ray notices the loss of a node in seconds instead of half a minute.
    settings = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}
    from ray.cluster_utils import Cluster

    node = {
        "num_cpus": 1,
        "node_ip_address": "127.0.0.1",
        "include_dashboard": False,
        "object_store_memory": 80 * 2**20,
    }
    cluster = Cluster(
        initialize_head=True,
        head_node_args={**node, "_system_config": settings},
    )
    yield cluster, cluster.add_node(**node)
    cluster.shutdown()


@pytest.mark.slow
def test_ray_comes_to_the_same_although_a_node_is_lost(
    small_sweep: Path,
    local: Story,
    cluster: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes, lost = cluster
    monkeypatch.chdir(tmp_path)
    runs = load_sweep(small_sweep, options={"threads": 1}).runs[:2]
    started, finished = [], []
    first_domains: list[str] = []
    for event in run_on_ray(runs, address=nodes.address):
        match event:
            case Started(run):
                started.append(run.seed)
                if len(started) == 2:
                    first_domains = [first_domain_of(run) for run in runs]
                    nodes.remove_node(lost, allow_graceful=False)
            case Finished(run):
                finished.append(run.seed)
            case _:
                pytest.fail(str(event))
    assert sorted(finished) == [0, 1]
    assert len(started) == 3, "the run on the lost node was taken up again"
    assert first_domains == [first_domain_of(run) for run in runs], "not from the start"
    assert results(tmp_path / "runs") == results(local.runs)


@pytest.mark.slow
def test_a_ray_cluster_that_is_lost_is_told_in_two_lines(
    small_sweep: Path, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes, _ = cluster
    monkeypatch.chdir(tmp_path)
    runs = load_sweep(small_sweep, options={"threads": 1}).runs[:2]
    told = pytest.raises(RunError, match=r"^the Ray cluster was lost: .*\n.*same comm")
    with told as caught:
        for event in run_on_ray(runs, address=nodes.address):
            if isinstance(event, Started):
                nodes.head_node.kill_gcs_server()
    assert len(str(caught.value).splitlines()) == 2
