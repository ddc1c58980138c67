"""Seconds that the features of image files take, compared with a bare loop."""

import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import torch
from PIL import Image

from bench.laps import median_ratio
from examples.core50_stand_in import make_core50_sample
from udil_avalanche.benchmarks.features import FrozenFeatures
from udil_avalanche.benchmarks.features.embedding import BATCH_SIZE, cores
from udil_avalanche.data.image_listing import image_files
from udil_avalanche.models.backbones import Backbone, make_backbone


def feature_speed(
    root: str | Path, *, pictures: int = 10_000, drawn: int = 320, repeats: int = 3
) -> dict[str, float | str]:
    """Seconds for the features of some images, of a second time, and of a bare loop
    over the same network with the same number of processes, in turns.

    The images are those of PACS, in one turn as they take minutes, if ``root/pacs`` is
    there; otherwise they are drawn.

    :param root: data folder.
    :param pictures: how many of PACS, evenly spread; it has 9,991.
    :param drawn: how many to draw.
    :param repeats: turns of each with drawn ones.
    """
    backbone = make_backbone()
    times: dict[str, list[float]] = {"first": [], "second": [], "bare": []}
    with tempfile.TemporaryDirectory() as scratch:
        pacs = Path(root) / "pacs"
        is_real = pacs.is_dir()
        tree = pacs if is_real else _drawn(Path(scratch), drawn)
        images = pictures if is_real else drawn
        found = image_files(tree)
        files = found[:: max(1, len(found) // images)][:images]
        for turn in range(1 if is_real else repeats):
            cache = Path(scratch) / f"cache{turn}"
            for name in ("first", "second"):
                begin = time.perf_counter()
                assert not list(FrozenFeatures(backbone, cache).compute(files))
                times[name].append(time.perf_counter() - begin)
            begin = time.perf_counter()
            _bare_loop(files, backbone, cores())
            times["bare"].append(time.perf_counter() - begin)
    return {
        "images": f"{len(files)} of {'PACS' if is_real else 'a drawn sample'}",
        "processes": cores(),
        "features s": median(times["first"]),
        "bare loop s": median(times["bare"]),
        "to bare loop": median_ratio(times["first"], times["bare"]),
        "a second time s": median(times["second"]),
    }


def _bare_loop(files: Sequence[str], backbone: Backbone, processes: int) -> None:
    """Each process decodes and embeds its share of the files, and drops the result."""
    context = multiprocessing.get_context("fork")
    with context.Pool(processes) as pool:
        pool.map(partial(_share, files, backbone, processes), range(processes))


def _share(
    files: Sequence[str], backbone: Backbone, processes: int, number: int
) -> None:
    torch.set_num_threads(1)
    mine = files[number::processes]
    size = (backbone.image_size, backbone.image_size)
    for begin in range(0, len(mine), BATCH_SIZE):
        pixels = [
            np.asarray(Image.open(file).convert("RGB").resize(size))
            for file in mine[begin : begin + BATCH_SIZE]
        ]
        images = torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2)
        with torch.no_grad():
            backbone.body(backbone.input(images))


def _drawn(scratch: Path, images: int) -> Path:
    return make_core50_sample(
        scratch, sessions=1, objects=8, frames=-(-images // 8), size=128
    )


__all__ = ["feature_speed"]
