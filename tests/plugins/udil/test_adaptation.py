"""What UDIL adds to the paper: own histories, honest estimates, a solved Omega."""

from typing import Any

import pytest
import torch

from udil_avalanche.losses import coefficient_solution
from udil_avalanche.plugins import (
    AdaptiveCoefficientsPlugin,
    BalancedReplayPlugin,
    EmbeddingDistillationPlugin,
    HistoryModelPlugin,
)
from udil_avalanche.plugins.shared.frozen import frozen_copy
from udil_avalanche.plugins.udil.omega import SolvedOmega
from udil_avalanche.theory.bound import BoundEstimates
from udil_avalanche.theory.leave_one_out import leave_one_out_errors
from udil_avalanche.theory.measured_divergence import measured_divergences


def test_each_sample_is_answered_by_the_model_of_its_own_domain(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=24)
    history = HistoryModelPlugin(replay, own_domain=True)
    strategy = naive(make_model(), [replay, history])
    own, compared = [], []

    def compare(strategy: Any) -> None:
        if replay.batch is not None:
            x, domains = replay.memory.fields[0], replay.memory.domains
            slow = [own[int(i)](x[k][None])[0] for k, i in enumerate(domains)]
            torch.testing.assert_close(history.memory_logits, torch.stack(slow))
            compared.append(replay.memory.n_domains)

    strategy.plugins.append(watch("after_update", compare))
    for experience in make_scenario(domains=3).train_stream:
        strategy.train(experience)
        own.append(frozen_copy(strategy.model))
    assert set(compared) == {1, 2}
    first, last = own[0](replay.memory.fields[0]), own[2](replay.memory.fields[0])
    assert not torch.allclose(first, last)


def make(naive: Any, model: Any, **options: Any) -> tuple[Any, Any, Any]:
    replay = BalancedReplayPlugin(mem_size=60, batch_size_mem=16)
    history = HistoryModelPlugin(replay)
    criterion = AdaptiveCoefficientsPlugin(
        replay, history, omega=SolvedOmega(every=3), c=None, honest=True, **options
    )
    strategy = naive(model, [replay, history], criterion=criterion)
    return strategy, criterion, history


def test_honest_estimates_leave_samples_out(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    strategy, criterion, history = make(naive, make_model())
    memory, seen = criterion.replay.memory, []

    def compare(strategy: Any) -> None:
        estimates = criterion._estimates
        if estimates is None or len(seen) == memory.n_domains:
            return
        e = history.memory_embeddings
        torch.testing.assert_close(
            estimates.history_error,
            leave_one_out_errors(e, memory.labels, memory.domains),
        )
        x = torch.stack([x for x, *_ in strategy.experience.dataset])
        torch.testing.assert_close(
            estimates.divergence,
            measured_divergences(e, memory.domains, history.model.encoder(x)),
        )
        seen.append(memory.n_domains)

    strategy.plugins.append(watch("before_backward", compare))
    strategy.train(make_scenario(domains=3).train_stream)
    assert seen == [1, 2]


def test_the_sample_of_a_domain_is_a_part_of_it_and_changes_no_other_draw(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    strategy, _, history = make(naive, make_model())
    first, second = make_scenario(domains=2, size=50).train_stream
    strategy.train(first)
    strategy.experience = second
    history.domain_sample_size, history.outputs_batch_values = 20, 8
    before = torch.get_rng_state()
    sample = history.domain_sample(strategy)
    assert torch.equal(torch.get_rng_state(), before)

    assert len(sample.labels) == 20
    domain = {tuple(x.tolist()): int(y) for x, y, *_ in second.dataset}
    everything = torch.tensor([*domain])
    embeddings = history.model.encoder(everything)
    for label, logits, e in zip(*sample, strict=True):
        (row,) = (embeddings - e).abs().sum(dim=1).lt(1e-5).nonzero().flatten()
        x = everything[row]
        assert domain[tuple(x.tolist())] == label
        torch.testing.assert_close(logits, history.model(x[None])[0])


def test_the_past_weighs_by_how_much_of_the_whole_domain_is_known(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    strategy, criterion, history = make(naive, make_model(), balanced=True)
    scales = []

    def compare(strategy: Any) -> None:
        t = criterion.replay.memory.n_domains + 1
        if t == 1 or len(scales) == t - 1:
            return
        x, y, *_ = zip(*strategy.experience.dataset, strict=True)
        logits = history.model(torch.stack(x))
        right = float((logits.argmax(dim=1) == torch.tensor(y)).float().mean())
        chance = 1 / logits.shape[1]
        q = max(0.0, (right - chance) / (1 - chance))
        assert criterion.scale == pytest.approx((2 / t) ** (1 - q * q), rel=1e-5)
        scales.append(criterion.scale)

    strategy.plugins.append(watch("before_backward", compare))
    strategy.train(make_scenario(domains=3).train_stream)
    assert len(scales) == 2


def test_solved_omega_follows_the_estimates_in_every_so_many_steps() -> None:
    torch.manual_seed(0)
    omega, c = SolvedOmega(tau=0.1, every=2), 5.0
    omega.start_domain(3)

    def estimates() -> BoundEstimates:
        return BoundEstimates(
            current_error=torch.tensor(0.1),
            past_error=torch.rand(3) / 5,
            current_disagreement=torch.rand(()) / 5,
            past_disagreement=torch.rand(3) / 5,
            divergence=torch.rand(3),
            history_error=torch.rand(3) / 5,
            n_current=500,
            n_memory=torch.full((3,), 30),
        )

    first, second, third = estimates(), estimates(), estimates()
    omega.step(first, c)
    solved = coefficient_solution(first, c).softmax(dim=1)
    torch.testing.assert_close(torch.stack(omega.values, dim=1), solved)
    omega.step(second, c)
    torch.testing.assert_close(torch.stack(omega.values, dim=1), solved)
    state = omega.state_dict()
    resumed = SolvedOmega(tau=0.1, every=2)
    resumed.load_state_dict(state)
    for each in (omega, resumed):
        each.step(third, c)
    assert all(map(torch.equal, omega.values, resumed.values))
    assert not torch.allclose(torch.stack(omega.values, dim=1), solved)


def test_C_follows_the_size_of_the_memory(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    strategy, criterion, _ = make(naive, make_model(), gated=True)
    strategy.train(make_scenario(domains=2).train_stream)
    assert len(criterion.replay.memory) == 60
    assert criterion.C == 60**0.5


def test_the_bound_is_kept_and_no_method_is_below_the_tightest(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    strategy, criterion, _ = make(naive, make_model())
    strategy.train(make_scenario(domains=4).train_stream)
    assert [len(each["divergence"]) for each in criterion.bounds] == [1, 2, 3]
    for each in criterion.bounds:
        total = each["current_error"] + sum(each["terms"].values())
        assert abs(total - each["bound"]) < 1e-4
        others = [*each["with"].values(), each["bound"]]
        assert each["tightest"] <= min(others) + 1e-4


def test_embeddings_are_compared_in_units_of_their_spread(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30)
    history = HistoryModelPlugin(replay)
    V_p = EmbeddingDistillationPlugin(replay, history, relative=True)
    strategy = naive(make_model(), [replay, history, V_p])
    found = []

    def compare(strategy: Any) -> None:
        batch = replay.batch
        if batch is None:
            return
        e = history.memory_embeddings
        unit = (e - e.mean(dim=0)).pow(2).sum(dim=1).mean()
        distance = (V_p.embeddings[batch.n_current :] - e[batch.positions]).pow(2)
        by_domain = [
            distance[batch.domains == i].sum(dim=1).mean()
            for i in range(replay.memory.n_domains)
        ]
        slow = sum(by_domain) / unit
        torch.testing.assert_close(V_p.terms["V_p"], slow.detach())
        found.append(replay.memory.n_domains + 1)

    strategy.plugins.append(watch("after_backward", compare))
    strategy.train(make_scenario(domains=3).train_stream)
    assert set(found) == {2, 3}
