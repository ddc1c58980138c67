"""HD-Balls, permuted and rotated MNIST."""

import math
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torchvision.transforms.functional import rotate as torchvision_rotate

from udil_avalanche.benchmarks import (
    hd_balls,
    load_mnist,
    permuted_mnist,
    rotated_mnist,
)
from udil_avalanche.benchmarks.shifts import rotate
from udil_avalanche.data.domain_tensors import DomainTensors, LastUsed, domain_of
from udil_avalanche.data.scenario import DomainScenario


def tensors(experience: Any) -> tuple[torch.Tensor, torch.Tensor]:
    domain = experience.dataset._flat_data._datasets[0]
    return domain.batch(torch.arange(len(domain)))


def test_hd_balls_are_as_the_paper_defines_them() -> None:
    scenario = hd_balls(seed=3)
    assert len(scenario.train_stream) == len(scenario.test_stream) == 20
    means = []
    for train, test in zip(scenario.train_stream, scenario.test_stream, strict=True):
        x, y = tensors(train)
        assert x.shape == (2000, 100)
        assert abs(y.float().mean().item() - 0.5) < 0.05
        mean = x.mean(dim=0)
        # The mean of 2,000 points strays by 0.2 / sqrt(2,000) = 0.0045 in each axis.
        assert mean.norm().item() == pytest.approx(1, abs=0.02)
        assert (x - mean).std().item() == pytest.approx(0.2, abs=0.002)
        direction = mean / mean.norm()
        assert ((x @ direction > 1).long() == y).float().mean() > 0.9

        test_x, test_y = tensors(test)
        assert not torch.equal(test_x, x)
        assert ((test_x @ direction > 1).long() == test_y).float().mean() > 0.9
        means.append(direction)
    cosines = torch.stack(means) @ torch.stack(means).T
    assert (cosines - torch.eye(20)).abs().max() < 5 / math.sqrt(100)


def test_hd_balls_follow_their_parameters_and_their_seed() -> None:
    small = {"domains": 3, "train_per_domain": 50, "dimensions": 7, "sigma": 0.01}
    first, again = hd_balls(**small, seed=1), hd_balls(**small, seed=1)
    other = hd_balls(**small, seed=2)
    more_tests = hd_balls(**small, seed=1, test_per_domain=9)
    x = tensors(first.train_stream[2])[0]
    assert x.shape == (50, 7) and x.std(dim=0).max() < 0.02
    assert torch.equal(x, tensors(again.train_stream[2])[0])
    assert torch.equal(x, tensors(more_tests.train_stream[2])[0])
    assert not torch.equal(x, tensors(other.train_stream[2])[0])
    assert len(more_tests.test_stream[0].dataset) == 9


def test_hd_balls_validation_is_held_out_of_the_training_points() -> None:
    whole = hd_balls(domains=2, train_per_domain=100)
    split = hd_balls(domains=2, train_per_domain=100, validation=0.2)
    together = torch.cat(
        [tensors(split.test_stream[1])[0], tensors(split.train_stream[1])[0]]
    )
    assert len(split.test_stream[1].dataset) == 20
    tiny = hd_balls(domains=1, train_per_domain=100, validation=0.001)
    assert len(tiny.test_stream[0].dataset) == 1
    assert torch.equal(together, tensors(whole.train_stream[1])[0])


def test_permutations_are_fixed_within_a_domain_and_differ_between_domains(
    mnist_root: Path,
) -> None:
    mnist = load_mnist(mnist_root)
    scenario = permuted_mnist(mnist_root, domains=3, seed=1)
    plain = mnist.test_images.flatten(1).float() / 255
    orders = []
    for experience in scenario.test_stream:
        x, y = tensors(experience)
        assert torch.equal(y, mnist.test_labels)
        assert torch.equal(x.flatten(1).sort(dim=1).values, plain.sort(dim=1).values)
        orders.append(x)
    assert not torch.equal(orders[0], orders[1])
    train = scenario.train_stream[0].dataset
    assert sorted(train.targets) == sorted(mnist.train_labels.tolist())
    again = permuted_mnist(mnist_root, domains=3, seed=1)
    assert torch.equal(tensors(again.test_stream[2])[0], orders[2])


def test_the_same_permutation_for_training_and_testing(mnist_root: Path) -> None:
    mnist = load_mnist(mnist_root)
    scenario = permuted_mnist(mnist_root, domains=1, train_per_domain=3000, seed=1)
    train = tensors(scenario.train_stream[0])[0].flatten(1).var(dim=0)
    test = tensors(scenario.test_stream[0])[0].flatten(1).var(dim=0)
    unpermuted = (mnist.test_images.flatten(1).float() / 255).var(dim=0)
    assert torch.corrcoef(torch.stack([train, test]))[0, 1] > 0.9
    assert torch.corrcoef(torch.stack([train, unpermuted]))[0, 1] < 0.5


@pytest.mark.parametrize("degrees", [0.0, 4.5, 90.0, 133.7])
def test_rotation_is_torchvisions(mnist_root: Path, degrees: float) -> None:
    images = load_mnist(mnist_root).test_images[:200]
    expected = torchvision_rotate(images[:, None], degrees)[:, 0]
    actual = rotate(images, torch.tensor(degrees))
    # To the nearest pixel, a tie within rounding may fall either way.
    assert (actual != expected).float().mean() < 0.003
    assert torch.equal(rotate(images, torch.tensor(0.0)), images)
    assert len(rotate(images[:0], torch.tensor(degrees))) == 0


def test_one_angle_per_domain_from_its_own_range(mnist_root: Path) -> None:
    mnist = load_mnist(mnist_root)
    scenario = rotated_mnist(mnist_root, domains=20, seed=4)
    image = mnist.test_images[:1]
    turned = rotate(image.expand(180, -1, -1), torch.arange(180))
    for t in (1, 2, 11, 19, 20):
        x = (scenario.test_stream[t - 1].dataset[0][0] * 255).round().byte()
        nearest = (turned != x).float().mean(dim=(1, 2)).argmin().item()
        assert 9 * (t - 1) - 1 <= nearest <= 9 * t + 1


def test_an_angle_for_each_image(mnist_root: Path) -> None:
    images = load_mnist(mnist_root).test_images
    degrees = torch.tensor([0.0, 90.0, 180.0])
    turned = rotate(images[:3], degrees)
    for k in range(3):
        assert torch.equal(turned[k], rotate(images[k : k + 1], degrees[k])[0])
    scenario = rotated_mnist(mnist_root, domains=2, per_image_angles=True)
    domain = rotated_mnist(mnist_root, domains=2)
    x, same = (tensors(s.test_stream[1])[0] for s in (scenario, domain))
    assert not torch.equal(x, same)
    assert torch.equal(x, tensors(scenario.test_stream[1])[0])


def test_a_share_of_the_training_images(mnist_root: Path) -> None:
    scenario = rotated_mnist(mnist_root, domains=2, train_per_domain=300)
    first, second = scenario.train_stream
    assert len(first.dataset) == len(second.dataset) == 300
    assert list(first.dataset.targets) != list(second.dataset.targets)
    with pytest.raises(ValueError, match="more than the"):
        rotated_mnist(mnist_root, domains=2, train_per_domain=10**6)


def test_validation_images_are_in_no_training_domain(mnist_root: Path) -> None:
    scenario = rotated_mnist(mnist_root, domains=3, validation=0.1)
    mnist = load_mnist(mnist_root)
    n = len(mnist.train_images)
    held_out = len(scenario.test_stream[0].dataset)
    assert held_out == math.ceil(0.1 * n)
    assert all(len(e.dataset) == n - held_out for e in scenario.train_stream)
    counts = torch.bincount(torch.tensor(list(scenario.test_stream[0].dataset.targets)))
    for experience in scenario.train_stream:
        trained = torch.bincount(torch.tensor(list(experience.dataset.targets)))
        assert torch.equal(trained + counts, torch.bincount(mnist.train_labels))


def test_training_domains_are_made_one_at_a_time(mnist_root: Path) -> None:
    scenario = rotated_mnist(mnist_root, domains=3, train_per_domain=100)
    domains = [e.dataset._flat_data._datasets[0] for e in scenario.train_stream]
    first = domains[0].inputs
    assert domains[0].inputs is first
    _ = domains[1].inputs
    assert domains[0].inputs is not first
    assert torch.equal(domains[0].inputs, first)
    assert first.dtype == torch.uint8


def test_scenarios_describe_themselves(mnist_root: Path) -> None:
    balls = hd_balls(domains=1, train_per_domain=10, test_per_domain=10)
    assert (balls.n_classes, balls.input_shape, balls.data) == (2, (100,), "hd_balls")
    digits = rotated_mnist(mnist_root, domains=1, train_per_domain=10)
    assert (digits.n_classes, digits.input_shape) == (10, (1, 28, 28))
    assert digits.data == "mnist"


def test_domains_can_be_pickled_for_workers(mnist_root: Path) -> None:
    balls = hd_balls(domains=1, train_per_domain=10, test_per_domain=10)
    digits = rotated_mnist(mnist_root, domains=1, train_per_domain=10)
    for scenario in (balls, digits):
        domain = scenario.train_stream[0].dataset._flat_data._datasets[0]
        again = pickle.loads(pickle.dumps(domain))
        assert torch.equal(again.inputs, domain.inputs)


def test_a_domain_whose_making_failed_does_not_spoil_the_others() -> None:
    slot = LastUsed()

    def fail() -> torch.Tensor:
        raise MemoryError

    good = DomainTensors(lambda: torch.ones(2, 3), torch.zeros(2), slot)
    bad = DomainTensors(fail, torch.zeros(2), slot)
    assert good.inputs.shape == (2, 3)
    with pytest.raises(MemoryError):
        _ = bad.inputs
    assert good.inputs.shape == (2, 3)


def domain(size: int = 4, labels: list[int] | None = None, width: int = 3) -> Any:
    classes = [0] * size if labels is None else labels
    return domain_of(torch.zeros(size, width), torch.tensor(classes, dtype=torch.long))


@pytest.mark.parametrize(
    ("train", "test", "reason"),
    [
        ([domain(0)], [domain()], "training data of domain 1 are empty"),
        ([domain(), domain()], [domain(), domain(0)], "test data of domain 2 are emp"),
        ([domain()], [domain(2, [0, 2])], "labels of domain 1 range from 0 to 2, but"),
        ([domain(2, [-1, 0])], [domain()], "training labels of domain 1 range from -1"),
        (
            [domain(), domain(width=5)],
            [domain()] * 2,
            r"\(3,\) in .*, \(5,\) in the tr",
        ),
        ([domain()], [domain(width=5)], "differ in their shape"),
        ([domain()], [], "1 training and 0 test domains"),
        ([], [], "at least one"),
    ],
)
def test_what_cannot_be_learned_is_named_before_any_training(
    train: list[Any], test: list[Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        DomainScenario(train=train, test=test, n_classes=2, data="made up")


def test_each_input_needs_a_label() -> None:
    with pytest.raises(ValueError, match="4 inputs but 3 labels"):
        domain_of(torch.zeros(4, 2), torch.zeros(3, dtype=torch.long))


@pytest.mark.parametrize(
    "size", ["domains", "train_per_domain", "test_per_domain", "dimensions"]
)
def test_hd_balls_of_no_size_are_refused(size: str) -> None:
    for value in (0, -1):
        with pytest.raises(ValueError, match="at least one"):
            hd_balls(**{size: value})


def test_a_share_of_no_images_is_refused(mnist_root: Path) -> None:
    for size in (0, -5):
        with pytest.raises(ValueError, match=f"train_per_domain={size}"):
            rotated_mnist(mnist_root, domains=1, train_per_domain=size)
