"""The loss of an epoch, for runs that are interrupted within one."""

from typing import Any

from avalanche.evaluation.metrics import EpochLoss as AvalancheEpochLoss


class EpochLoss(AvalancheEpochLoss):  # type: ignore[misc]
    """Avalanche's average of the training loss over an epoch, under the same name, with
    a state that can be saved.
    """

    def state_dict(self) -> dict[str, Any]:
        """The sums since the epoch began."""
        mean = self._loss._mean_loss
        return {"summed": mean.summed, "weight": mean.weight}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary of the earlier run.
        """
        mean = self._loss._mean_loss
        mean.summed, mean.weight = state["summed"], state["weight"]
