"""The batches of an epoch that was broken off."""

from collections.abc import Iterator
from typing import Any

from udil_avalanche.runs.state.generators import set_generator_states


class ResumedEpoch:
    """What is left of an epoch, from any loader whose order follows from the random
    generators as the epoch begins: those of torch and that of tensors do.

    It lets the loader begin its epoch once more as it did, passes over the batches that
    were done, and then puts the generators to where the last of these had left them.

    :param loader: the loader; it may draw further numbers for each batch, for instance
        to augment images.
    :param n_done: batches that were done.
    :param rng_at_start: the generators when the epoch began.
    :param rng_at_resume: the generators after the last batch that was done.
    """

    def __init__(
        self,
        loader: Any,
        n_done: int,
        rng_at_start: dict[str, Any],
        rng_at_resume: dict[str, Any],
    ) -> None:
        self.loader = loader
        self.n_done = n_done
        self.rng_at_start = rng_at_start
        self.rng_at_resume = rng_at_resume

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        set_generator_states(self.rng_at_start)
        batches = iter(self.loader)
        for _ in range(self.n_done):
            next(batches, None)
        set_generator_states(self.rng_at_resume)
        yield from batches


__all__ = ["ResumedEpoch"]
