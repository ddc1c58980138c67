"""V_s in UDIL: among the samples of the current domain, as far as it is new."""

from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin

from udil_avalanche.losses import spread, supcon_loss
from udil_avalanche.plugins import SupConPlugin
from udil_avalanche.strategies import UDIL


class Expected(SupervisedPlugin):
    """Computes V_s again from the embeddings of a step."""

    def __init__(self, supcon: Any, whole_batch: bool) -> None:
        super().__init__()
        self.supcon = supcon
        self.whole_batch = whole_batch
        self.pairs: list[tuple[float, float]] = []

    def before_backward(self, strategy: Any, **kwargs: Any) -> None:
        n = len(strategy.mb_y)
        if not self.whole_batch and strategy.replay.batch is not None:
            n = strategy.replay.batch.n_current
        chosen = self.supcon.embeddings[:n].detach()
        value = supcon_loss(chosen, strategy.mb_y[:n], spread(chosen))
        q = strategy.coefficients.known
        self.pairs.append((float(self.supcon.terms["V_s"]), float((1 - q**2) * value)))


@pytest.mark.parametrize("contrast_memory", [False, True])
def test_which_samples_are_compared(
    make_model: Any, make_scenario: Any, silent: Any, contrast_memory: bool
) -> None:
    torch.manual_seed(0)
    model = make_model()
    strategy = UDIL(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        mem_size=30,
        batch_size_mem=12,
        lambda_s=0.3,
        contrast_memory=contrast_memory,
        train_mb_size=16,
        train_epochs=4,
        evaluator=silent(),
    )
    supcon = next(each for each in strategy.plugins if isinstance(each, SupConPlugin))
    expected = Expected(supcon, contrast_memory)
    strategy.plugins.append(expected)
    known = []
    for experience in make_scenario(domains=3).train_stream:
        strategy.train(experience)
        known.append(strategy.coefficients.known)
    assert known[0] == 0 and max(known) > 0
    for found, wanted in expected.pairs:
        assert found == pytest.approx(wanted, rel=1e-5)
