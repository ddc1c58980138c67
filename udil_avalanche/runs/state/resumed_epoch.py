"""The remaining batches of an interrupted epoch."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from udil_avalanche.runs.state.generators import set_generator_states


@dataclass
class ResumedEpoch:
    """The rest of an epoch, from any loader whose order depends only on the random
    generators at the beginning of the epoch: torch's loaders and the tensor loader do.

    The loader begins its epoch again with the same generators, the batches that are
    done are skipped, and then the generators are set to what they were after these.

    :param loader: the loader; it may draw more random numbers for each batch, for
        instance to augment images.
    :param n_done: batches that are done.
    :param rng_at_start: the generators at the beginning of the epoch.
    :param rng_at_resume: the generators after the last batch that was done.
    """

    loader: Any
    n_done: int
    rng_at_start: dict[str, Any]
    rng_at_resume: dict[str, Any]

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        set_generator_states(self.rng_at_start)
        batches = iter(self.loader)
        for _ in range(self.n_done):
            next(batches, None)
        set_generator_states(self.rng_at_resume)
        yield from batches
