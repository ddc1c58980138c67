"""Small models in folders, with two versions each, that are made once."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.reading import class_names, new_domain, read_samples
from udil_avalanche.learner.training import learn_domain
from udil_avalanche.recipes.resolve import resolve

COLOURS = {"blue": (40, 40, 200), "green": (40, 200, 40), "red": (200, 40, 40)}
SIZE = 32


def write_image(path: Path, colour: str, seed: int, size: tuple[int, int]) -> Path:
    """A noisy image of a colour; the ending decides on the format."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(size[1], size[0], 3)) * 40
    pixels = np.clip(np.array(COLOURS[colour]) + noise, 0, 255).astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


def learned(path: Path, data: Path, reserve: int = 20, **options: object) -> Path:
    """A model that has learned the domains in a folder one by one."""
    samples = read_samples(data, image_size=SIZE)
    classes = class_names(samples)
    benchmark = "arrays" if any(data.glob("*.npz")) else "folders"
    settings = resolve("Fine-tune", benchmark, options=options)
    folder, version = ModelFolder(path), None
    for number, each in enumerate(samples, start=1):
        domain = new_domain(each, classes, reserve=reserve)
        version = learn_domain(
            version, domain, settings, classes, number=number, reserve=reserve
        )
        folder.write(version)
        folder.make_current(number)
    return path


@pytest.fixture(scope="session")
def float_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A perceptron on numbers of all scales, which it standardises."""
    root = tmp_path_factory.mktemp("floats")
    rng = np.random.default_rng(0)
    for t in range(2):
        x = rng.normal(size=(200, 6)) * 10.0 ** np.arange(6) + 5
        y = 3 + (x[:, t] > 5) + (x[:, t + 1] > 5)
        np.savez(root / f"d{t}.npz", x=x.astype(np.float32), y=y)
    return learned(root / "model", root, epochs=20, hidden=16, batch_size=32, lr=0.1)


@pytest.fixture(scope="session")
def byte_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A perceptron on small 8-bit images, without a reserve."""
    root = tmp_path_factory.mktemp("bytes")
    rng = np.random.default_rng(1)
    for t in range(2):
        x = rng.integers(0, 256, (100, 4, 5), dtype=np.uint8)
        np.savez(root / f"d{t}.npz", x=x, y=(x[:, 0, t] > 127).astype(int))
    return learned(root / "model", root, reserve=0, epochs=5, hidden=16, batch_size=32)


@pytest.fixture(scope="session")
def image_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ResNet-18 on image files of colours."""
    root = tmp_path_factory.mktemp("images")
    for t in range(2):
        for colour in COLOURS:
            for k in range(8):
                file = root / "data" / f"d{t}" / colour / f"{k}.png"
                write_image(file, colour, seed=100 * t + k, size=(40, 40))
    options = {"image_size": SIZE, "batch_size": 8, "workers": 0, "epochs": 2}
    return learned(root / "model", root / "data", **options)
