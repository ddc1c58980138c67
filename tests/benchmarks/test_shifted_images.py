"""Mixed MNIST and rotated Fashion-MNIST, on a few images of noise."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torchvision.transforms.functional import rotate as torchvision_rotate

from udil_avalanche.benchmarks import mixed_mnist, rotated_fashion_mnist
from udil_avalanche.benchmarks.fetching.mnist_files import MnistImages
from udil_avalanche.recipes import BENCHMARKS
from udil_avalanche.recipes.resolve import resolve

BOTH = pytest.mark.parametrize("make", [mixed_mnist, rotated_fashion_mnist])
STEP = 0.25


@pytest.fixture
def root(tmp_path: Path, raw: dict[str, bytes], raw_clothes: dict[str, bytes]) -> Path:
    """A data folder with small files in place of MNIST and of Fashion-MNIST."""
    for name, files in (("MNIST", raw), ("FashionMNIST", raw_clothes)):
        folder = tmp_path / name / "raw"
        folder.mkdir(parents=True)
        for file, content in files.items():
            (folder / file).write_bytes(content)
    return tmp_path


def images_of(experience: Any) -> Tensor:
    inputs: Tensor = experience.dataset._flat_data._datasets[0].inputs
    return inputs.squeeze(1)


def rows(images: Tensor) -> list[bytes]:
    return sorted(image.numpy().tobytes() for image in images)


def mismatch(plain: Tensor, shown: Tensor, degrees: Iterable[float]) -> float:
    """The share of pixels that differ from the images turned by the best of angles."""
    return min(
        (torchvision_rotate(plain, angle) != shown).float().mean().item()
        for angle in degrees
    )


def angles(start: float, end: float) -> list[float]:
    return [start + k * STEP for k in range(round((end - start) / STEP) + 1)]


def assert_turned(plain: Tensor, shown: Tensor, start: float, end: float) -> None:
    """The images are turned by an angle of a range: no other explains them better.
    Near a right angle, rotations by up to two degrees more or less are the same."""
    best = mismatch(plain, shown, angles(start, end))
    assert best < 0.1
    assert best <= mismatch(plain, shown, angles(0, 181))


def moved_as(plain: Tensor, shown: Tensor) -> Callable[[Tensor], Tensor]:
    """Moves pixels as they must have moved to make the shown images of the plain ones.
    In noise, no two pixels have the same values in all images."""
    black = torch.zeros(len(plain), 1, dtype=plain.dtype)
    before = torch.cat([plain.flatten(1), black], dim=1).T
    same = (shown.flatten(1).T[:, None] == before[None]).all(dim=2)
    assert (same.sum(dim=1) == 1).all(), "a pixel comes from nowhere"
    sources = same.int().argmax(dim=1)

    def move(images: Tensor) -> Tensor:
        padded = torch.cat([images.flatten(1), black.new_zeros(len(images), 1)], dim=1)
        return padded[:, sources].view_as(images)

    return move


def test_mixed_mnist_turns_and_permutes_in_turn(root: Path, small: MnistImages) -> None:
    plain = small.test_images
    shown = [images_of(each) for each in mixed_mnist(root, seed=3).test_stream]
    assert len(shown) == 10
    for k, images in enumerate(shown[::2], start=1):
        assert_turned(plain, images, 9 * (k - 1), 9 * k)
    orders = {images.numpy().tobytes() for images in shown[1::2]}
    assert len(orders) == 5, "every permutation is a new one"
    for images in shown[1::2]:
        assert mismatch(plain, images, angles(0, 50)) > 0.9
        pixels = images.flatten(1).sort(dim=1).values
        assert torch.equal(pixels, plain.flatten(1).sort(dim=1).values)


@pytest.mark.parametrize(("domains", "turned"), [(1, 1), (2, 1), (5, 3)])
def test_mixed_mnist_begins_with_a_rotation(
    domains: int, turned: int, root: Path
) -> None:
    shown = [images_of(each) for each in mixed_mnist(root, domains=domains).test_stream]
    # Rotations lose corners, permutations lose nothing.
    keeps_all = [len(images.sum(dim=0).nonzero()) == 28 * 28 for images in shown[1:]]
    assert len(shown) == domains
    assert keeps_all == [t % 2 == 0 for t in range(domains - 1)]
    assert keeps_all.count(False) == turned - 1


def test_ten_domains_of_clothes_span_half_a_turn(
    root: Path, small_clothes: MnistImages
) -> None:
    scenario = rotated_fashion_mnist(root, seed=3)
    assert len(scenario.test_stream) == 10
    for t, domain in enumerate(scenario.test_stream, start=1):
        shown = images_of(domain)
        assert_turned(small_clothes.test_images, shown, 18 * (t - 1), 18 * t)


@BOTH
def test_a_domain_shows_training_and_test_images_alike(
    make: Any, root: Path, small: MnistImages, small_clothes: MnistImages
) -> None:
    images = small if make is mixed_mnist else small_clothes
    scenario = make(root, domains=4)
    for train, test in zip(scenario.train_stream, scenario.test_stream, strict=True):
        move = moved_as(images.test_images, images_of(test))
        assert rows(images_of(train)) == rows(move(images.train_images))
        assert list(test.dataset.targets) == images.test_labels.tolist()


@BOTH
def test_labels_stay_with_their_images(
    make: Any, root: Path, small: MnistImages, small_clothes: MnistImages
) -> None:
    images = small if make is mixed_mnist else small_clothes
    scenario = make(root, domains=2, train_per_domain=7)
    move = moved_as(images.test_images, images_of(scenario.test_stream[1]))
    train = scenario.train_stream[1]
    label_of = {
        image.numpy().tobytes(): int(label)
        for image, label in zip(
            move(images.train_images), images.train_labels, strict=True
        )
    }
    shown = [label_of[image.numpy().tobytes()] for image in images_of(train)]
    assert len(shown) == 7
    assert shown == list(train.dataset.targets)


@BOTH
def test_draws_follow_the_seed(make: Any, root: Path) -> None:
    first, again, other = (make(root, domains=2, seed=seed) for seed in (1, 1, 2))
    for t in (0, 1):
        x = images_of(first.train_stream[t])
        assert torch.equal(x, images_of(again.train_stream[t]))
        assert not torch.equal(x, images_of(other.train_stream[t]))
        test = images_of(first.test_stream[t])
        assert not torch.equal(test, images_of(other.test_stream[t]))


@BOTH
def test_validation_images_are_in_no_training_domain(
    make: Any, root: Path, small: MnistImages, small_clothes: MnistImages
) -> None:
    images = small if make is mixed_mnist else small_clothes
    plain = make(root, domains=4)
    scenario = make(root, domains=4, validation=0.1)
    for t in range(4):
        # Drawn before the images are, so holding some out does not change the shifts.
        move = moved_as(images.test_images, images_of(plain.test_stream[t]))
        held_out = images_of(scenario.test_stream[t])
        assert len(held_out) == 3
        train = images_of(scenario.train_stream[t])
        assert rows(torch.cat([held_out, train])) == rows(move(images.train_images))


@BOTH
def test_more_images_than_there_are_is_an_error(make: Any, root: Path) -> None:
    with pytest.raises(ValueError, match="more than the 30 training images"):
        make(root, domains=2, train_per_domain=31)


@pytest.mark.parametrize("name", ["mixed_mnist", "rotated_fashion_mnist"])
def test_the_recipe_builds_what_it_names(name: str, root: Path) -> None:
    options = {"data": str(root), "train_per_domain": 5}
    settings = resolve("ER", name, options=options)
    recipe = BENCHMARKS[name]
    scenario = recipe.build(settings)
    assert scenario.data in recipe.data
    assert len(scenario.train_stream) == settings.domains == 10
    assert [len(each.dataset) for each in scenario.train_stream] == [5] * 10
    model = recipe.build_model(settings, scenario)
    x, _ = scenario.test_stream[0].dataset[0][:2]
    assert model(x[None]).shape == (1, 10)
