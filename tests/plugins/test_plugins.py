"""What each plugin does, beyond the contract that they share."""

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import nn

from udil_avalanche.bound import Coefficients
from udil_avalanche.losses import discriminator_loss
from udil_avalanche.models import EncoderPredictor
from udil_avalanche.plugins import (
    AdaptiveCoefficientsPlugin,
    AnnealingPlugin,
    BalancedReplayPlugin,
    DiscriminatorPlugin,
    EmbeddingDistillationPlugin,
    GradientClippingPlugin,
    HistoryModelPlugin,
    SupConPlugin,
    TensorLoaderPlugin,
)
from udil_avalanche.plugins.encoder_plugin import EmbeddingTap


class Watch(SupervisedPlugin):
    """Calls a function at one of the strategy's callbacks."""

    def __init__(self, callback: str, function: Callable[[Any], None]) -> None:
        super().__init__()
        setattr(self, callback, lambda strategy, **kwargs: function(strategy))


def test_replay_appends_a_balanced_memory_batch(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay, seen = BalancedReplayPlugin(mem_size=30, batch_size_mem=9), []

    def look(strategy: Any) -> None:
        batch = replay.batch
        if batch is None:
            seen.append((len(strategy.mb_y), None))
            return
        memory_x = strategy.mb_x[batch.n_current :]
        assert torch.equal(memory_x, replay.memory.fields[0][batch.positions])
        assert torch.equal(
            strategy.mb_y[batch.n_current :], replay.memory.labels[batch.positions]
        )
        seen.append((len(strategy.mb_y), torch.bincount(batch.domains).tolist()))

    strategy = naive(make_model(), [replay, Watch("after_forward", look)])
    scenario = make_scenario(domains=4)
    for experience in scenario.train_stream:
        strategy.train(experience)
    assert seen[:4] == [(16, None)] * 4
    assert seen[4:8] == [(25, [9])] * 4
    assert all(size == 25 and sorted(c) == [4, 5] for size, c in seen[8:12])
    assert seen[12:] == [(25, [3, 3, 3])] * 4
    assert replay.batch is None


def test_replay_with_a_memory_of_zero_is_plain_training(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    scenario, models = make_scenario(), [make_model(), make_model()]
    for model, plugins in zip(models, ([BalancedReplayPlugin(0)], []), strict=True):
        torch.manual_seed(3)
        naive(model, plugins).train(scenario.train_stream)
    for a, b in zip(*(m.parameters() for m in models), strict=True):
        assert torch.equal(a, b)


def test_a_memory_smaller_than_the_number_of_domains_says_so_before_training(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    strategy = naive(make_model(), [BalancedReplayPlugin(mem_size=2)])
    scenario = make_scenario(domains=3)
    strategy.train(scenario.train_stream[:2])
    steps = strategy.clock.train_iterations
    with pytest.raises(ValueError, match="cannot hold 3 domains"):
        strategy.train(scenario.train_stream[2])
    assert strategy.clock.train_iterations == steps


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="mem_size must not be negative"):
        BalancedReplayPlugin(mem_size=-1)


def test_the_memory_does_not_keep_past_domains_alive(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    """400 samples of 3 domains, and no tensor or dataset of the domains themselves."""
    replay = BalancedReplayPlugin(mem_size=400)
    history = HistoryModelPlugin(replay)
    criterion = AdaptiveCoefficientsPlugin(replay, history)
    strategy = naive(make_model(), [replay, history], criterion=criterion)
    scenario = make_scenario(domains=3, size=1000)
    watched = []
    for experience in scenario.train_stream:
        domain = experience.dataset._flat_data._datasets[0]
        watched += [weakref.ref(domain), weakref.ref(domain.inputs)]
        strategy.train(experience)
    del scenario, experience, domain
    gc.collect()
    assert len(replay.memory) == 3 * 133
    assert [ref() for ref in watched] == [None] * len(watched)
    storage = replay.memory.fields[0].untyped_storage()
    assert storage.nbytes() == replay.memory.fields[0].nbytes


def test_history_model_is_a_frozen_copy_in_evaluation_mode(
    naive: Any, make_scenario: Any
) -> None:
    encoder = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU())
    model = EncoderPredictor(encoder, nn.Linear(8, 3))
    replay = BalancedReplayPlugin(mem_size=20)
    history = HistoryModelPlugin(replay)
    strategy = naive(model, [replay, history])
    scenario = make_scenario()

    strategy.train(scenario.train_stream[0])
    learned = copy.deepcopy(model.state_dict())
    frozen = history.model
    assert frozen is not None and not frozen.training
    assert not any(p.requires_grad for p in frozen.parameters())

    strategy.train(scenario.train_stream[1])
    assert history.model is not frozen
    for name, value in frozen.state_dict().items():
        assert torch.equal(value, learned[name]), f"{name} moved during domain 2"
    for name in ("encoder.0.weight", "encoder.1.running_mean"):
        assert not torch.equal(learned[name], model.state_dict()[name])


def test_history_outputs_on_the_memory_are_those_of_the_last_domains_model(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    model = make_model()
    replay = BalancedReplayPlugin(mem_size=20)
    history = HistoryModelPlugin(replay)
    history.outputs_batch_size = 7
    checked = []

    def compare(strategy: Any) -> None:
        if replay.batch is not None:
            x = replay.memory.fields[0]
            torch.testing.assert_close(history.memory_logits, frozen(x))
            torch.testing.assert_close(history.memory_embeddings, frozen.encoder(x))
            checked.append(len(x))

    strategy = naive(model, [replay, history, Watch("after_update", compare)])
    frozen = model
    for experience in make_scenario().train_stream:
        strategy.train(experience)
        frozen = copy.deepcopy(model)
    assert checked == [20] * 8


def test_embeddings_come_from_the_strategys_own_forward_pass(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    model = make_model()
    callers: list[nn.Module] = []
    model.encoder.register_forward_hook(lambda module, *_: callers.append(module))
    replay = BalancedReplayPlugin(mem_size=20)
    history = HistoryModelPlugin(replay)
    parts = [
        replay,
        history,
        DiscriminatorPlugin(replay, hidden=8),
        EmbeddingDistillationPlugin(replay, history),
        SupConPlugin(),
    ]
    strategy = naive(model, parts)
    scenario = make_scenario()
    strategy.train(scenario.train_stream[:2])
    n_forward = sum(module is model.encoder for module in callers)
    assert n_forward == strategy.clock.train_iterations == 8


def test_any_module_that_names_its_encoder_works(
    naive: Any, make_scenario: Any
) -> None:
    class Other(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleDict({"body": nn.Linear(6, 5)})
            self.out = nn.Linear(5, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.out(self.parts["body"](x))

    supcon = SupConPlugin(encoder="parts.body")
    naive(Other(), [supcon]).train(make_scenario().train_stream[0])
    assert supcon.terms["V_s"] > 0
    with pytest.raises(ValueError, match=r"no sub-module 'encoder'.*parts, out"):
        naive(Other(), [SupConPlugin()]).train(make_scenario().train_stream[0])


def test_convolutional_embeddings_become_rows() -> None:
    model = EncoderPredictor(nn.Conv2d(1, 2, 3), nn.Flatten())
    with EmbeddingTap(model, "encoder") as tap:
        model(torch.randn(4, 1, 8, 8))
    assert tap.embeddings.shape == (4, 2 * 6 * 6)


def test_discriminator_learns_and_grows_with_the_domains(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=60, batch_size_mem=32)
    plugin = DiscriminatorPlugin(replay, lambda_d=0.0, lr=1e-2, hidden=32)
    accuracies: list[list[float]] = [[]]
    strategy = naive(
        make_model(),
        [
            replay,
            plugin,
            Watch(
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
            assert plugin.discriminator is not None
            assert plugin.discriminator.head.out_features == t
            assert plugin.divergence.shape == (t - 1,)
    assert sum(accuracies[1][-10:]) / 10 > sum(accuracies[1][:3]) / 3
    assert sum(accuracies[1][-10:]) / 10 > 0.8


def test_alignment_gradient_is_that_of_the_minimax_game(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    """The encoder's gradient is that of the task plus -lambda_d V_d, with d as it was
    before its own step."""
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=8)
    plugin = DiscriminatorPlugin(replay, lambda_d=0.7, lr=1e-2, hidden=8)
    model = make_model()
    state: dict[str, Any] = {}

    def remember(strategy: Any) -> None:
        state["d"] = copy.deepcopy(plugin.discriminator)

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
            Watch("before_forward", remember),
            plugin,
            Watch("after_backward", compare),
        ],
    )
    strategy.train(make_scenario().train_stream)
    assert state["compared"] == 2 * 3, "all but the first iteration of two domains"


def test_coefficients_as_criterion_are_cross_entropy_outside_of_training(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30)
    history = HistoryModelPlugin(replay)
    criterion = AdaptiveCoefficientsPlugin(replay, history)
    strategy = naive(make_model(), [replay, history], criterion=criterion)
    scenario = make_scenario()
    strategy.train(scenario.train_stream)
    logits, labels = torch.randn(5, 3), torch.randint(3, (5,))
    expected = nn.functional.cross_entropy(logits, labels)
    assert criterion(logits, labels).item() == pytest.approx(expected.item())


def test_coefficients_follow_the_batch_and_are_logged(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30)
    history = HistoryModelPlugin(replay)
    omega = Coefficients(lr=0.05)
    discriminator = DiscriminatorPlugin(replay, coefficients=omega, hidden=8)
    criterion = AdaptiveCoefficientsPlugin(
        replay, history, discriminator, coefficients=omega, c=1.0
    )
    strategy = naive(
        make_model(), [replay, history, discriminator, criterion], criterion=criterion
    )
    names: set[str] = set()
    strategy.plugins.insert(
        0, Watch("after_training_iteration", lambda _: names.update(criterion.terms))
    )
    strategy.train(make_scenario(domains=4).train_stream)
    assert {"V_0-1", "V_l", "V_l/cross_domain", "alpha", "beta", "gamma"} <= names
    assert [tuple(each.shape) for each in criterion.trajectory] == [
        (1, 3),
        (2, 3),
        (3, 3),
    ]
    for each in criterion.trajectory:
        torch.testing.assert_close(each.sum(dim=1), torch.ones(len(each)))
        assert not torch.allclose(each, torch.full_like(each, 1 / 3), atol=1e-3)


def test_small_memory_batches_leave_domains_out_without_harm(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=2)
    history = HistoryModelPlugin(replay)
    criterion = AdaptiveCoefficientsPlugin(replay, history)
    model = make_model()
    strategy = naive(model, [replay, history], criterion=criterion)
    strategy.train(make_scenario(domains=5).train_stream)
    assert all(p.isfinite().all() for p in model.parameters())
    assert criterion.trajectory[-1].isfinite().all()


@pytest.mark.parametrize(
    "make",
    [
        lambda replay, other: EmbeddingDistillationPlugin(replay, other),
        lambda replay, other: AdaptiveCoefficientsPlugin(replay, other),
    ],
)
def test_a_history_model_of_another_memory_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="with the same replay"):
        make(BalancedReplayPlugin(), HistoryModelPlugin(BalancedReplayPlugin()))


@pytest.mark.parametrize("shuffle", [True, False])
def test_tensor_loader_gives_the_samples_that_avalanche_gives(
    naive: Any, make_scenario: Any, make_model: Any, shuffle: bool
) -> None:
    batches: dict[bool, list[Any]] = {True: [], False: []}
    for fast in (True, False):
        watch = Watch(
            "before_forward", lambda s, fast=fast: batches[fast].append(s.mbatch)
        )
        plugins = [TensorLoaderPlugin(), watch] if fast else [watch]
        strategy = naive(make_model(), plugins, train_mb_size=24)
        strategy.train(make_scenario().train_stream[0], shuffle=shuffle)
    for fast, slow in zip(batches[True], batches[False], strict=True):
        assert [f.shape for f in fast] == [s.shape for s in slow]
        assert [f.dtype for f in fast] == [s.dtype for s in slow]
        if not shuffle:
            assert all(torch.equal(f, s) for f, s in zip(fast, slow, strict=True))
    together = [torch.cat([b[0] for b in batches[f]]) for f in (True, False)]
    fast_rows, slow_rows = (sorted(rows.tolist()) for rows in together)
    assert fast_rows == slow_rows


def test_tensor_loader_serves_subsets_and_leaves_other_datasets_alone(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    scenario = make_scenario()
    dataset = scenario.train_stream[0].dataset
    indices = [5, 3, 60]
    seen: list[torch.Tensor] = []
    watch = Watch("before_eval_forward", lambda s: seen.append(s.mb_x))
    strategy = naive(make_model(), [TensorLoaderPlugin(), watch])
    experience = copy.copy(scenario.train_stream[0])
    experience._dataset = dataset.subset(indices)
    strategy.eval([experience])
    assert torch.equal(torch.cat(seen), torch.stack([dataset[i][0] for i in indices]))

    seen.clear()
    subset = dataset.subset(indices).eval()
    experience._dataset = subset.replace_current_transform_group(lambda x: 2 * x)
    strategy.eval([experience])
    expected = torch.stack([2 * dataset[i][0] for i in indices])
    assert torch.equal(torch.cat(seen), expected)


def test_clipping_limits_the_gradient_of_all_parameters_together(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    lengths: dict[str, list[float]] = {"before": [], "after": []}

    def measure(when: str) -> Watch:
        def length(strategy: Any) -> None:
            squares = [p.grad.pow(2).sum() for p in strategy.model.parameters()]
            lengths[when].append(float(sum(squares)) ** 0.5)

        return Watch("before_update", length)

    plugins = [measure("before"), GradientClippingPlugin(1.5), measure("after")]
    naive(make_model(), plugins).train(make_scenario().train_stream)
    assert max(lengths["before"]) > 1.5 > min(lengths["before"])
    for before, after in zip(lengths["before"], lengths["after"], strict=True):
        assert after == pytest.approx(min(before, 1.5), rel=1e-4)


def test_annealing_lowers_the_rate_at_the_end_of_each_domain(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    rates: list[float] = []
    look = Watch(
        "after_update", lambda s: rates.append(s.optimizer.param_groups[0]["lr"] / 0.05)
    )
    strategy = naive(make_model(), [AnnealingPlugin(0.5), look], train_epochs=2)
    strategy.train(make_scenario(domains=2).train_stream)
    one_domain = [1, 1, 1, 1, 0.775, 0.55, 0.325, 0.1]
    assert rates == pytest.approx(2 * one_domain)
    assert strategy.optimizer.param_groups[0]["lr"] == pytest.approx(0.05)


def test_a_reservoir_is_refused_where_the_memory_must_hold_past_domains_only() -> None:
    replay = BalancedReplayPlugin(reservoir=True)
    for make in (HistoryModelPlugin, DiscriminatorPlugin):
        with pytest.raises(ValueError, match="reservoir=False"):
            make(replay)


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


def test_the_last_smaller_batch_can_be_left_out(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    strategy = naive(make_model(), [TensorLoaderPlugin()])
    strategy.train(make_scenario(size=65).train_stream[0], drop_last=True)
    assert strategy.clock.train_iterations == 4


def test_logged_divergence_counts_only_the_domains_in_the_batch(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=1)
    plugin = DiscriminatorPlugin(replay, hidden=8)
    seen: list[tuple[float, float]] = []

    def look(strategy: Any) -> None:
        if replay.batch is not None:
            present = plugin.divergence[replay.batch.domains]
            seen.append((float(plugin.terms["divergence"]), float(present.mean())))

    watch = Watch("before_backward", look)
    naive(make_model(), [replay, plugin, watch]).train(
        make_scenario(domains=4).train_stream
    )
    assert len(seen) == 12
    for logged, expected in seen:
        assert logged == pytest.approx(expected)
