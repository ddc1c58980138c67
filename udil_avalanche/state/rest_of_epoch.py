"""The batches of an epoch that was broken off."""

from collections.abc import Iterator
from typing import Any

from udil_avalanche.state.generators import set_generator_states


class RestOfEpoch:
    """What is left of an epoch, from any loader whose order follows from the random
    generators as the epoch begins: those of torch and that of tensors do.

    It lets the loader begin its epoch once more as it did, passes over the batches that
    were done, and then puts the generators to where the last of these had left them.

    :param loader: the loader; it may draw further numbers for each batch, for instance
        to augment images.
    :param n_done: batches that were done.
    :param at_its_beginning: the generators when the epoch began.
    :param after_the_last: the generators after the last batch that was done.
    """

    def __init__(
        self,
        loader: Any,
        n_done: int,
        at_its_beginning: dict[str, Any],
        after_the_last: dict[str, Any],
    ) -> None:
        self.loader = loader
        self.n_done = n_done
        self.at_its_beginning = at_its_beginning
        self.after_the_last = after_the_last

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        set_generator_states(self.at_its_beginning)
        batches = iter(self.loader)
        for _ in range(self.n_done):
            next(batches, None)
        set_generator_states(self.after_the_last)
        yield from batches


__all__ = ["RestOfEpoch"]
