"""Images per second from files to normalised mini-batches.

Our loader is compared with torchvision's ``ImageFolder`` in a plain ``DataLoader``,
with the same transformations.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import torch
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

from examples.core50_stand_in import make_core50_sample
from udil_avalanche.benchmarks import folders
from udil_avalanche.data.image_files import image_source
from udil_avalanche.models.image_input import IMAGENET, ImageInput
from udil_avalanche.plugins.loaders.image_loader import ImageLoader
from udil_avalanche.plugins.training.random_flip import flip

BATCH = 64


def image_loading(
    *,
    objects: int = 20,
    frames: int = 40,
    size: int = 128,
    workers: Sequence[int] = (1, 2),
    repeats: int = 3,
) -> dict[str, float]:
    """Images per second of each way to load the same files: the median of some epochs,
    including the start of the worker processes, without training.

    Both decode, scale, mirror at random, and normalise. Ours does the last two on
    whole batches in the training process, which is included in its time. It has one
    thread for this: more would compete with the workers for the cores.

    :param objects: classes of images.
    :param frames: images of each.
    :param size: width and height.
    :param workers: numbers of worker processes to measure with.
    :param repeats: epochs of each, in turns.
    """
    with tempfile.TemporaryDirectory() as scratch:
        tree = make_core50_sample(
            scratch, sessions=1, objects=objects, frames=frames, size=size
        )
        cases: dict[str, Callable[[], int]] = {}
        for n in workers:
            cases[f"our loader, {n} workers"] = _ours(tree, size, n)
            cases[f"ImageFolder, {n} workers"] = _image_folder(tree, size, n)
        speeds: dict[str, list[float]] = {name: [] for name in cases}
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        for _ in range(repeats):
            for name, epoch in cases.items():
                begin = time.perf_counter()
                n_images = epoch()
                speeds[name].append(n_images / (time.perf_counter() - begin))
        torch.set_num_threads(threads)
    return {name: median(values) for name, values in speeds.items()}


def _ours(tree: Path, size: int, workers: int) -> Callable[[], int]:
    scenario = folders(tree, image_size=size, test_share=0.01, verify_images=False)
    dataset = scenario.train_stream[0].dataset
    source = image_source(dataset)
    assert source is not None
    loader = ImageLoader(dataset, source, BATCH, shuffle=True, workers=workers)
    normalise = ImageInput(*IMAGENET)

    def epoch() -> int:
        n = 0
        for x, *_ in loader:
            n += len(normalise(flip(x, torch.rand(len(x)) < 0.5)))
        return n

    return epoch


def _image_folder(tree: Path, size: int, workers: int) -> Callable[[], int]:
    steps = [
        transforms.Resize((size, size)),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(*IMAGENET),
    ]
    dataset = ImageFolder(str(tree / "s1"), transforms.Compose(steps))
    loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=workers)
    return lambda: sum(len(x) for x, _ in loader)


__all__ = ["image_loading"]
