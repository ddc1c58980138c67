"""What the methods with a memory share."""

from typing import Any

from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor

from udil_avalanche.data.attributes import values_of
from udil_avalanche.memory.balanced import BalancedMemory
from udil_avalanche.memory.reservoir import ReservoirMemory


class MemoryPlugin(SupervisedPlugin):
    """Fills a memory by the paper's random balanced sampling, and leaves its use to the
    plugins that inherit from it.

    The memory owns its tensors and holds exactly floor(\\|M\\| / t) samples of each
    domain. The dataset's ``eval`` transformations apply to what is stored.

    :param mem_size: \\|M\\|, samples over all domains. A memory of 0 stays empty.
    :param class_balanced: share a domain's quota out evenly between its classes.
    :param reservoir: fill the memory by reservoir sampling instead, in every step and
        with the samples as they are trained on.
    """

    def __init__(
        self,
        mem_size: int = 400,
        class_balanced: bool = False,
        reservoir: bool = False,
    ) -> None:
        super().__init__()
        if mem_size < 0:
            raise ValueError(f"mem_size must not be negative, but it is {mem_size}.")
        if reservoir and class_balanced:
            raise ValueError("A reservoir cannot be balanced by class: choose one.")
        self.memory: BalancedMemory | ReservoirMemory = (
            ReservoirMemory(mem_size)
            if reservoir
            else BalancedMemory(mem_size, class_balanced)
        )

    def annotations(self, strategy: Any, fields: list[Tensor]) -> list[Tensor]:
        """What to keep with samples that enter the memory, besides the fields that they
        have. Nothing, unless a method says otherwise.

        :param strategy: the strategy.
        :param fields: the samples: x, y and what follows.
        """
        return []

    def n_current(self, strategy: Any) -> int:
        """Number of samples in the mini-batch that come from the current domain."""
        return len(strategy.mb_y)

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Refuse a domain that the memory could not hold, before it is trained on."""
        if isinstance(self.memory, ReservoirMemory):
            self.memory.start_domain()
        elif self.memory.max_size > 0:
            self.memory.quota(self.memory.n_domains + 1)

    def after_update(self, strategy: Any, **kwargs: Any) -> None:
        """Offer the samples of the step to a reservoir."""
        if isinstance(self.memory, ReservoirMemory) and self.memory.max_size > 0:
            n = self.n_current(strategy)
            fields = [field[:n] for field in strategy.mbatch]
            self.memory.add(fields + self.annotations(strategy, fields))

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Take the domain that was learned into the memory."""
        if isinstance(self.memory, ReservoirMemory) or self.memory.max_size == 0:
            return
        dataset = strategy.experience.dataset.eval()
        labels = values_of(dataset.targets)
        self.memory.add_domain(
            dataset,
            labels,
            strategy.device,
            annotate=lambda fields: self.annotations(strategy, fields),
        )

    def state_dict(self) -> dict[str, Any]:
        """The memory."""
        return {"memory": self.memory.state_dict()}

    def load_state_dict(self, state: dict[str, Any], strategy: Any) -> None:
        """Go on from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy.
        """
        self.memory.load_state_dict(state["memory"], strategy.device)


__all__ = ["MemoryPlugin"]
