"""The order that plugins need."""

from typing import Any

import pytest

from udil_avalanche.plugins import (
    BalancedReplayPlugin,
    EmbeddingDistillationPlugin,
    HistoryModelPlugin,
)


@pytest.mark.parametrize("order", [[0, 2], [2, 0, 1], [0, 2, 1]])
def test_missing_or_late_collaborators_are_named(
    naive: Any, make_scenario: Any, make_model: Any, order: list[int]
) -> None:
    replay = BalancedReplayPlugin()
    history = HistoryModelPlugin(replay)
    parts = [replay, history, EmbeddingDistillationPlugin(replay, history)]
    strategy = naive(make_model(), [parts[k] for k in order])
    wanted = "BalancedReplayPlugin, HistoryModelPlugin, EmbeddingDistillationPlugin"
    with pytest.raises(ValueError, match=wanted):
        strategy.train(make_scenario().train_stream[0])
