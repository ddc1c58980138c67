import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from udil_avalanche.data.image_files import ImageFiles, image_source
from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.errors import RunError
from udil_avalanche.plugins.loaders.image_loader import (
    ImageLoader,
    lost_workers_explained,
)


@pytest.fixture
def dataset(tmp_path: Path, write_image: Callable[..., Path]) -> Any:
    files = [str(write_image(tmp_path / f"{k}.png", (k, 0, 0))) for k in range(21)]
    domain = ImageFiles(files, torch.arange(21) % 3, 8)
    scenario = DomainScenario(train=[domain], test=[domain], n_classes=3, data="x")
    return scenario.train_stream[0].dataset


def loader(dataset: Any, batch_size: int = 4, workers: int = 0, **more: Any) -> Any:
    source = image_source(dataset)
    assert source is not None
    kwargs = {"shuffle": True, **more}
    return ImageLoader(dataset, source, batch_size, workers=workers, **kwargs)


def order(batches: Any) -> list[list[int]]:
    return [x[:, 0, 4, 0].tolist() for x, *_ in batches]


def test_the_order_is_that_of_the_generator_whatever_the_number_of_workers(
    dataset: Any,
) -> None:
    orders, states = [], []
    for workers in (0, 1, 2):
        torch.manual_seed(3)
        orders.append(order(loader(dataset, 5, workers)))
        states.append(torch.get_rng_state())
    torch.manual_seed(3)
    expected = torch.randperm(21)
    assert [k for batch in orders[0] for k in batch] == expected.tolist()
    assert all(each == orders[0] for each in orders)
    for state in states:
        assert torch.equal(state, torch.get_rng_state()), "one draw, and no other"


def test_a_batch_has_all_fields_in_step(dataset: Any) -> None:
    for x, y, tasks in loader(dataset, 6, workers=2):
        assert x.dtype == torch.uint8
        assert torch.equal(x[:, 0, 4, 0] % 3, y)
        assert torch.equal(tasks, torch.zeros_like(y))


def test_a_single_sample_joins_the_batch_before_it(dataset: Any) -> None:
    assert [len(batch) for batch in order(loader(dataset, 4))] == [4, 4, 4, 4, 5]
    assert [len(b) for b in order(loader(dataset, 4, drop_last=True))] == [4] * 5
    in_order = order(loader(dataset, 4, shuffle=False))
    assert [len(batch) for batch in in_order] == [4, 4, 4, 4, 4, 1]
    assert [len(batch) for batch in order(loader(dataset, 6))] == [6, 6, 6, 3]
    for batch_size in (1, 4, 6, 21, 50):
        each = loader(dataset, batch_size)
        assert len(list(each)) == len(each)


def test_workers_end_with_the_epoch_also_if_it_is_broken_off(dataset: Any) -> None:
    batches = iter(loader(dataset, 2, workers=2))
    next(batches)
    assert len(multiprocessing.active_children()) == 2
    batches.close()
    assert multiprocessing.active_children() == []
    list(loader(dataset, 2, workers=2))
    assert multiprocessing.active_children() == []


def test_a_damaged_image_stops_training_by_name(dataset: Any) -> None:
    source = image_source(dataset)
    assert source is not None
    Path(source.files[20]).write_bytes(b"")
    for workers in (0, 1):
        with pytest.raises(ValueError, match=r"20\.png"):
            list(loader(dataset, 4, workers))
    assert multiprocessing.active_children() == []


def train_forever(dataset: Any, begun: Any) -> None:
    # As at a terminal: what a shell starts in the background ignores Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for _ in loader(dataset, 2, workers=2):
        begun.put([child.pid for child in multiprocessing.active_children()])
        time.sleep(60)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_a_run_that_is_stopped(
    sent: signal.Signals, dataset: Any
) -> None:
    fork = multiprocessing.get_context("fork")
    begun = fork.Queue()
    run = fork.Process(target=train_forever, args=(dataset, begun))
    run.start()
    workers = begun.get(timeout=60)
    assert len(workers) == 2
    assert run.pid is not None
    os.kill(run.pid, sent)
    run.join(timeout=60)
    stopped_by = run.exitcode
    run.kill()
    assert stopped_by not in (None, 0)
    deadline = time.monotonic() + 20
    while any(map(is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(is_alive, workers))


def test_a_worker_that_was_killed_is_told_in_plain_words(dataset: Any) -> None:
    batches = iter(loader(dataset, 2, workers=1))
    next(batches)
    [worker] = multiprocessing.active_children()
    assert worker.pid is not None
    told = pytest.raises(RunError, match=r"was ended from outside.*\nTry fewer workers")
    # torch may tell of it before the next batch is asked for.
    with told, lost_workers_explained():
        os.kill(worker.pid, signal.SIGKILL)
        list(batches)
