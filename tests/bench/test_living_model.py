"""The measurement of drift runs, and measures what it says."""

from pathlib import Path

import pytest
import torch

from bench import drift
from bench.learned_rotations import learn, rotations


def test_no_image_is_learned_and_kept_or_comes_later(mnist_root: Path) -> None:
    domains = rotations(mnist_root, angles=[0.0, 0.0], images=40, reserve=20, seed=100)
    pixels = [
        *(each.inputs for each in map(_tensors, domains.scenario.train_stream)),
        *(images for images, _ in domains.reserve),
        domains.later(0.0)[:50],
    ]
    rows = torch.cat([each.flatten(start_dim=1).float() for each in pixels])
    assert len(rows) == 2 * 60 + 50
    assert len(torch.unique(rows, dim=0)) == len(rows)
    assert [len(labels) for _, labels in domains.reserve] == [20, 20]


def _tensors(experience):
    from udil_avalanche.data.tensor_dataset import tensor_source

    source = tensor_source(experience.dataset)
    assert source is not None
    return source.domain


def test_more_images_than_there_are_is_said(mnist_root: Path) -> None:
    with pytest.raises(ValueError, match="more than the 54000"):
        rotations(mnist_root, angles=[0.0] * 3, images=20_000, reserve=0, seed=0)


def test_a_model_that_learns_gives_probabilities(mnist_root: Path) -> None:
    domains = rotations(mnist_root, angles=[0.0, 9.0], images=300, reserve=30, seed=100)
    *_, learned = learn("UDIL", domains, seed=100)
    embeddings, probabilities = learned.outputs(domains.reserve[0][0])
    assert embeddings.shape == (30, 800)
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(30))
    assert learned.memory is not None and len(learned.memory[0]) == 400


@pytest.mark.parametrize("reserve", [60, 0])
def test_drift_is_measured(
    mnist_root: Path, capsys: pytest.CaptureFixture[str], reserve: int
) -> None:
    drift.main(
        f"--data {mnist_root} --seed 100 --draws 2 --sizes 60 --domains 2 "
        f"--images 500 --reserve {reserve}".split()
    )
    shown = capsys.readouterr().out
    assert "60 samples" in shown
    [new] = [line for line in shown.splitlines() if line.startswith("│ new")]
    draws, called_new, unclear, right = (int(cell) for cell in new.split("│")[2:6])
    assert (draws, called_new, unclear, right) == (2, 2, 0, 2)
    # The accuracy without labels is found by the reserve.
    assert ("bias" in shown) == (reserve > 0)
