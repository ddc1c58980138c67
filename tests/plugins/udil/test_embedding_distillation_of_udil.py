"""V_p in UDIL: its weight in short and in long streams."""

from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin

from udil_avalanche.losses import embedding_distillation_loss, spread
from udil_avalanche.plugins import EmbeddingDistillationPlugin
from udil_avalanche.strategies import UDIL


class Expected(SupervisedPlugin):
    """Computes V_p again from the embeddings of a step."""

    def __init__(self, distillation: Any) -> None:
        super().__init__()
        self.distillation = distillation
        self.ratios: dict[int, float] = {}

    def before_backward(self, strategy: Any, **kwargs: Any) -> None:
        batch = strategy.replay.batch
        if batch is None:
            return
        n_past = strategy.replay.memory.n_domains
        memory = strategy.history.memory_embeddings
        whole = embedding_distillation_loss(
            self.distillation.embeddings[batch.n_current :].detach(),
            strategy.history.batch_embeddings(batch),
            batch.domains,
            n_past,
            spread(memory) if self.distillation.relative else 1.0,
        )
        if whole > 1e-4:
            found = float(self.distillation.terms["V_p"] / whole)
            self.ratios[n_past] = found


@pytest.mark.parametrize("relative", [True, False])
def test_all_past_domains_weigh_no_more_than_twenty(
    make_model: Any, make_scenario: Any, silent: Any, relative: bool
) -> None:
    torch.manual_seed(0)
    model = make_model()
    strategy = UDIL(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        mem_size=60,
        batch_size_mem=60,
        relative=relative,
        train_mb_size=16,
        evaluator=silent(),
    )
    distillation = next(
        each
        for each in strategy.plugins
        if isinstance(each, EmbeddingDistillationPlugin)
    )
    expected = Expected(distillation)
    strategy.plugins.append(expected)
    for experience in make_scenario(domains=26).train_stream:
        strategy.train(experience)
    assert {1, 20, 21, 25} <= set(expected.ratios)
    for n_past, ratio in expected.ratios.items():
        wanted = min(1, 20 / n_past) if relative else 1
        assert ratio == pytest.approx(wanted, rel=1e-4)
