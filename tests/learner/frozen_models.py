"""Images of colours, and a small network with weights in a file that makes features of
them."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torchvision.models import shufflenet_v2_x0_5

from tests.learner.stored_models import COLOURS, SIZE, write_image
from udil_avalanche import DomainLearner

DOMAINS = ("d0", "d1")
PARTS = {"train": 8, "test": 4}


def write_photos(root: Path) -> Path:
    """Two domains, split into training and test images."""
    for t, domain in enumerate(DOMAINS):
        for k, colour in enumerate(COLOURS):
            for part, n in PARTS.items():
                for i in range(n):
                    file = root / domain / part / colour / f"{i}.png"
                    seed = 1000 * t + 100 * k + 10 * len(part) + i
                    write_image(file, colour, seed, size=(20, 24))
    return root


def write_weights(file: Path) -> Path:
    """A network that nobody has trained; its features tell colours apart all the
    same."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        torch.save(shufflenet_v2_x0_5().state_dict(), file)
    return file


def frozen_settings(root: Path) -> dict[str, Any]:
    """Settings of a model with a frozen backbone; weights and cache are below a
    folder."""
    return {
        "frozen": True,
        "network": "shufflenet_v2_x0_5",
        "weights": str(write_weights(root / "weights.pth")),
        "cache": str(root / "cache"),
        "image_size": SIZE,
        "epochs": 10,
        "hidden": 32,
    }


@pytest.fixture(scope="session")
def frozen_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a frozen backbone, two versions, on its own: neither the weights
    that it began with nor the cache are there any more."""
    root = tmp_path_factory.mktemp("frozen")
    photos = write_photos(root / "photos")
    settings = frozen_settings(root)
    model = root / "model"
    learner = DomainLearner("ER", path=model, memory=12, **settings)
    for domain in DOMAINS:
        learner.update(photos / domain)
    Path(settings["weights"]).unlink()
    shutil.rmtree(settings["cache"])
    return model
