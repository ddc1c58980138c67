"""The adversarial discriminator and the divergence that it measures."""

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from udil_avalanche.losses import discriminator_loss
from udil_avalanche.models.mlp import EncoderPredictor
from udil_avalanche.plugins import (
    BalancedReplayPlugin,
    DiscriminatorPlugin,
)


def test_discriminator_learns_and_grows_with_the_domains(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=60, batch_size_mem=32)
    plugin = DiscriminatorPlugin(replay, lambda_d=0.0, lr=1e-2, hidden=32)
    accuracies: list[list[float]] = [[]]
    strategy = naive(
        make_model(),
        [
            replay,
            plugin,
            watch(
                "after_training_iteration",
                lambda _: accuracies[-1].append(
                    float(plugin.terms.get("discriminator_accuracy", 0))
                ),
            ),
        ],
        train_epochs=20,
    )
    for t, experience in enumerate(make_scenario().train_stream, start=1):
        strategy.train(experience)
        accuracies.append([])
        if t > 1:
            assert plugin.network is not None
            assert plugin.network.head.out_features == t
            assert plugin.divergence.shape == (t - 1,)
    assert sum(accuracies[1][-10:]) / 10 > sum(accuracies[1][:3]) / 3
    assert sum(accuracies[1][-10:]) / 10 > 0.8


def test_alignment_gradient_is_that_of_the_minimax_game(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    """The encoder's gradient is that of the task plus -lambda_d V_d, with d as it was
    before its own step."""
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=8)
    plugin = DiscriminatorPlugin(replay, lambda_d=0.7, lr=1e-2, hidden=8)
    model = make_model()
    state: dict[str, Any] = {}

    def remember(strategy: Any) -> None:
        state["d"] = copy.deepcopy(plugin.network)

    def compare(strategy: Any) -> None:
        if replay.batch is None or state["d"] is None:
            return
        twin = copy.deepcopy(model)
        twin.zero_grad()
        logits = twin(strategy.mb_x)
        loss = nn.functional.cross_entropy(logits, strategy.mb_y)
        domain_logits = state["d"](twin.encoder(strategy.mb_x))
        n_past = replay.memory.n_domains
        if domain_logits.shape[1] != n_past + 1:
            return
        beta = torch.ones(n_past)
        loss = loss - 0.7 * discriminator_loss(
            domain_logits, replay.batch.domains, beta
        )
        loss.backward()
        for mine, expected in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(mine.grad, expected.grad)
        state["compared"] = state.get("compared", 0) + 1

    strategy = naive(
        model,
        [
            replay,
            watch("before_forward", remember),
            plugin,
            watch("after_backward", compare),
        ],
    )
    strategy.train(make_scenario().train_stream)
    assert state["compared"] == 2 * 3, "all but the first iteration of two domains"


def test_logged_divergence_counts_only_the_domains_in_the_batch(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=1)
    plugin = DiscriminatorPlugin(replay, hidden=8)
    seen: list[tuple[float, float]] = []

    def look(strategy: Any) -> None:
        if replay.batch is not None:
            present = plugin.divergence[replay.batch.domains]
            seen.append((float(plugin.terms["divergence"]), float(present.mean())))

    looking = watch("before_backward", look)
    naive(make_model(), [replay, plugin, looking]).train(
        make_scenario(domains=4).train_stream
    )
    assert len(seen) == 12
    for logged, expected in seen:
        assert logged == pytest.approx(expected)


@pytest.fixture
def pull(watch: Any, naive: Any, make_scenario: Any, make_model: Any) -> Any:
    """Aligns gently without any other loss and without moving the weights. Gives for
    each step what one needs to know about it; ``between`` is called before each."""

    def pull(
        lambda_d: float = 0.7,
        scale: float = 1.0,
        between: Callable[[Any, DiscriminatorPlugin], None] = lambda *_: None,
    ) -> list[dict[str, Any]]:
        replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=8)
        plugin = DiscriminatorPlugin(
            replay, lambda_d=lambda_d, lr=1e-2, hidden=8, gentle=True
        )
        plain = make_model()
        encoder = nn.Sequential(plain.encoder, Times(scale))
        model = EncoderPredictor(encoder, plain.predictor)
        steps: list[dict[str, Any]] = []

        def remember(strategy: Any) -> None:
            between(strategy, plugin)
            d = plugin.network
            grows = d is None or d.head.out_features <= replay.memory.n_domains
            steps.append({"d": None if grows else copy.deepcopy(d)})

        def look(strategy: Any) -> None:
            if replay.batch is None:
                steps.pop()
                return
            done = strategy.clock.train_exp_iterations
            steps[-1] |= {
                "first": done == 0,
                "progress": done / (strategy.train_epochs * len(strategy.dataloader)),
                "n": replay.batch.n_current,
                "domains": replay.batch.domains,
                "n_past": replay.memory.n_domains,
                "labels": strategy.mb_y,
                "embeddings": plugin.embeddings.detach(),
                "gradient": plugin.embeddings.grad,
            }

        strategy = naive(
            model,
            [
                replay,
                watch("before_forward", remember),
                plugin,
                watch("before_backward", lambda _: plugin.embeddings.retain_grad()),
                watch("after_backward", look),
            ],
            criterion=lambda logits, labels: 0 * logits.sum(),
            train_epochs=2,
        )
        strategy.optimizer.param_groups[0]["lr"] = 0.0
        torch.manual_seed(2)
        strategy.train(make_scenario().train_stream)
        assert len(steps) == 2 * 2 * 4, "two epochs of the second and third domain"
        return steps

    return pull


class Times(nn.Module):
    """Multiplies by a number."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.factor * x


def mean_squared_distance(embeddings: torch.Tensor) -> float:
    """From their mean, one by one."""
    centre = embeddings.mean(dim=0)
    return sum(float((e - centre).square().sum()) for e in embeddings) / len(embeddings)


def slow_pull(step: dict[str, Any]) -> torch.Tensor:
    """-V_d's derivative by the embeddings, gently: d sees them in units of their
    spread, beside their classes."""
    e = step["embeddings"].clone().requires_grad_()
    spread = mean_squared_distance(e.detach())
    classes = nn.functional.one_hot(step["labels"], 3)
    in_units = (e - e.detach().mean(dim=0)) / math.sqrt(spread / e.shape[1])
    logits = step["d"](torch.cat([in_units, classes], dim=1))
    value = discriminator_loss(logits, step["domains"], torch.ones(step["n_past"]))
    (gradient,) = torch.autograd.grad(-value, e)
    longest = 1 / (step["n"] * math.sqrt(spread))
    rows = []
    for place, row in enumerate(gradient):
        length = float(row.norm())
        bounded = row * min(1, longest / length) if length else row
        rows.append(bounded if place < step["n"] else torch.zeros_like(row))
    return math.tanh(5 * step["progress"]) * torch.stack(rows)


def test_a_gentle_pull_is_that_of_a_slow_count(pull: Any) -> None:
    compared = 0
    for step in pull(lambda_d=0.7):
        if step["d"] is not None:
            torch.testing.assert_close(step["gradient"], 0.7 * slow_pull(step))
            compared += not step["first"]
    assert compared == 2 * 7


def test_a_gentle_pull_moves_current_samples_alone_and_within_bounds(
    pull: Any,
) -> None:
    for step in pull(lambda_d=1e3):
        n, gradient = step["n"], step["gradient"]
        assert len(gradient) > n
        assert not gradient[n:].any()
        if step["first"]:
            assert not gradient.any(), "d has learned nothing yet"
        else:
            assert gradient[:n].any()
        longest = 1e3 / (n * math.sqrt(mean_squared_distance(step["embeddings"])))
        assert gradient.norm(dim=1).max() <= longest * (1 + 1e-5)


def test_a_gentle_pull_is_the_same_in_units_of_the_embeddings(pull: Any) -> None:
    plain, large = pull(), pull(scale=1000.0)
    for one, other in zip(plain, large, strict=True):
        torch.testing.assert_close(other["embeddings"], 1000 * one["embeddings"])
        torch.testing.assert_close(1000 * other["gradient"], one["gradient"])


def test_a_gentle_pull_goes_on_where_it_was_saved(pull: Any) -> None:
    def save_and_load(strategy: Any, plugin: DiscriminatorPlugin) -> None:
        state = copy.deepcopy(plugin.state_dict())
        with torch.random.fork_rng():
            plugin.load_state_dict(state, strategy)

    for one, other in zip(pull(), pull(between=save_and_load), strict=True):
        assert torch.equal(one["gradient"], other["gradient"])
