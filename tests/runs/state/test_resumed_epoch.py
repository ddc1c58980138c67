import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from udil_avalanche.runs.state.generators import generator_states
from udil_avalanche.runs.state.resumed_epoch import ResumedEpoch


class Noisy(Dataset):
    """Ten samples, augmented at random."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> Tensor:
        return torch.tensor([index, torch.rand(()).item()])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("done", [1, 3, 5])
def test_the_rest_of_an_epoch_is_what_was_left_of_it(workers: int, done: int) -> None:
    loader = DataLoader(Noisy(), batch_size=2, shuffle=True, num_workers=workers)

    began = generator_states()
    whole, now = [], began
    for i, batch in enumerate(loader, start=1):
        whole.append((batch, torch.rand(1)))
        if i == done:
            now = generator_states()
    after = torch.rand(1)

    torch.manual_seed(99)
    rest = ResumedEpoch(loader, done, rng_at_start=began, rng_at_resume=now)
    assert len(rest) == len(loader)
    found = [(batch, torch.rand(1)) for batch in rest]
    assert len(found) == 5 - done
    for (batch, draw), (right_batch, right_draw) in zip(
        found, whole[done:], strict=True
    ):
        assert torch.equal(batch, right_batch)
        assert torch.equal(draw, right_draw)
    assert torch.equal(torch.rand(1), after)
