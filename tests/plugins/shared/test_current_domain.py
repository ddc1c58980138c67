"""Domains are told apart by the experiences that they come from."""

import copy
import gc
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from avalanche.benchmarks import split_online_stream

from udil_avalanche import UDIL
from udil_avalanche.evaluation.domain_metrics import DomainMetrics
from udil_avalanche.memory import BalancedMemory
from udil_avalanche.plugins import (
    AGEMPlugin,
    BalancedReplayPlugin,
    CLSERPlugin,
    DERPlugin,
    ESMERPlugin,
    GEMPlugin,
    HistoryModelPlugin,
    LwFPlugin,
    OnlineEWCPlugin,
    SynapticIntelligencePlugin,
)
from udil_avalanche.plugins.shared.current_domain import CurrentDomain


def online(scenario: Any, size: int = 16, **kwargs: Any) -> Iterator[Any]:
    """The training stream in parts of ``size`` samples, in their order."""
    return iter(
        split_online_stream(
            scenario.train_stream, experience_size=size, shuffle=False, **kwargs
        )
    )


def weights(model: Any) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.fixture
def udil(make_model: Any, silent: Any) -> Callable[..., UDIL]:
    def make(*metrics: Any, **kwargs: Any) -> UDIL:
        model = make_model()
        torch.manual_seed(1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        return UDIL(
            model=model,
            optimizer=optimizer,
            evaluator=silent(*metrics),
            **{
                "mem_size": 30,
                "batch_size_mem": 8,
                "train_mb_size": 16,
                "lambda_d": 0.1,
                "hidden_discriminator": 8,
                **kwargs,
            },
        )

    return make


class TestWhichDomain:
    def test_the_same_experience_and_parts_of_one_go_on(
        self, make_scenario: Any
    ) -> None:
        scenario, domain = make_scenario(domains=2), CurrentDomain()
        first, second = scenario.train_stream
        parts = list(online(scenario))
        told = []
        for experience in (first, first, first.train(), parts[1], second, parts[4]):
            told.append(domain.begin(experience))
            domain.finish(experience)
        assert told == [False, True, True, True, False, True]

    def test_a_domain_that_returns_is_new(self, make_scenario: Any) -> None:
        domain = CurrentDomain()
        first, second = make_scenario(domains=2).train_stream
        for experience in (first, second, first):
            assert not domain.begin(experience)
            domain.finish(experience)

    def test_samples_are_counted_once(self, make_scenario: Any) -> None:
        scenario, domain, counts = make_scenario(domains=1), CurrentDomain(), []
        [whole], parts = scenario.train_stream, list(online(scenario))
        for experience in (parts[0], parts[1], parts[0], whole, parts[2], whole):
            domain.begin(experience)
            counts.append((domain.n_samples, domain.brings_samples))
            domain.finish(experience)
        assert counts == [
            *((16, True), (32, True), (32, False)),
            *((64, True), (64, False), (64, False)),
        ]

    def test_an_interrupted_experience_does_not_count(self, make_scenario: Any) -> None:
        domain = CurrentDomain()
        first, second = make_scenario(domains=2).train_stream
        domain.begin(first)
        assert not domain.begin(first)
        domain.finish(first)
        domain.begin(second)
        assert not domain.begin(first)

    def test_no_data_are_kept_alive_or_copied(self, make_scenario: Any) -> None:
        scenario, domain = make_scenario(domains=1), CurrentDomain()
        [experience] = scenario.train_stream
        domain.begin(experience)
        domain.finish(experience)
        for other in (copy.deepcopy(domain), pickle.loads(pickle.dumps(domain))):
            assert not other.begin(experience)
        reference = domain._origin
        del scenario, experience, other
        gc.collect()
        assert reference is not None and reference() is None


class TestUDIL:
    @pytest.mark.parametrize("access", [True, False])
    def test_an_online_stream_has_as_many_domains_as_its_origin(
        self, access: bool, make_scenario: Any, udil: Any
    ) -> None:
        scenario, metrics = make_scenario(domains=3), DomainMetrics()
        strategy = udil(metrics)
        for part in online(scenario, access_task_boundaries=access):
            strategy.train(part)
            strategy.eval(scenario.test_stream)
        assert strategy.replay.memory.n_domains == 3
        assert strategy.replay.memory.counts.tolist() == [10, 10, 10]
        assert [len(omega) for omega in strategy.coefficients.trajectory] == [1, 2]
        assert len(strategy.coefficients.bounds) == 2
        assert strategy.discriminator.network.head.out_features == 3
        assert metrics.trained_domains == [0, 1, 2]
        assert metrics.matrix.shape == (3, 3)

    def test_training_again_adds_no_domain(self, make_scenario: Any, udil: Any) -> None:
        scenario, strategy = make_scenario(domains=2), udil()
        for experience in scenario.train_stream:
            for _ in range(3):
                strategy.train(experience)
        assert strategy.replay.memory.n_domains == 2
        assert len(strategy.coefficients.trajectory) == 1

    def test_a_domain_that_goes_on_is_not_replayed(
        self, make_scenario: Any, udil: Any, watch: Any
    ) -> None:
        scenario, seen = make_scenario(domains=2), []
        strategy = udil()

        def look(strategy: Any) -> None:
            batch = strategy.replay.batch
            seen.append(None if batch is None else batch.domains.unique().tolist())

        strategy.plugins.append(watch("after_forward", look))
        for experience in scenario.train_stream:
            strategy.train(experience)
            strategy.train(experience)
        assert seen == [None] * 8 + [[0]] * 8

    def test_the_history_model_is_that_before_the_domain(
        self, make_scenario: Any, udil: Any, watch: Any
    ) -> None:
        scenario, strategy, seen = make_scenario(domains=2), udil(), []
        strategy.plugins.append(
            watch("after_forward", lambda s: seen.append(s.history.model))
        )
        strategy.train(scenario.train_stream[0])
        first = strategy.history.model
        for part in list(online(scenario))[4:]:
            strategy.train(part)
        assert all(model is None for model in seen[:4])
        assert all(model is first for model in seen[4:])
        now = weights(strategy.model)
        assert torch.equal(weights(strategy.history.model), now)

    def test_the_optimizer_is_reset_for_a_new_domain_alone(
        self, make_scenario: Any, udil: Any, watch: Any
    ) -> None:
        scenario, strategy, momenta = make_scenario(domains=2), udil(), []
        strategy.plugins.append(
            watch(
                "before_training_epoch",
                lambda s: momenta.append(len(s.optimizer.state) > 0),
            )
        )
        for experience in scenario.train_stream:
            strategy.train(experience)
            strategy.train(experience)
        assert momenta == [False, True, False, True]

    def test_omega_goes_on(self, make_scenario: Any, udil: Any, watch: Any) -> None:
        scenario = make_scenario(domains=2)
        strategy, begins = udil(solved=False, honest=False, balanced=False), []
        strategy.plugins.append(
            watch(
                "before_training_epoch",
                lambda s: begins.append(s.coefficients.omega.logits.detach().clone()),
            )
        )
        strategy.train(scenario.train_stream[0])
        strategy.train(scenario.train_stream[1])
        ended = strategy.coefficients.omega.logits.detach().clone()
        strategy.train(scenario.train_stream[1])
        assert torch.equal(begins[1], torch.zeros(1, 3))
        assert ended.abs().max() > 0
        assert torch.equal(begins[2], ended)

    def test_what_is_measured_counts_all_samples_of_the_domain(
        self, make_scenario: Any, udil: Any
    ) -> None:
        scenario, strategy = make_scenario(domains=2), udil()
        for part in online(scenario):
            strategy.train(part)
        assert strategy.coefficients._estimates.n_current == 64

    def test_another_domain_after_one_that_was_interrupted(
        self, make_scenario: Any, udil: Any, watch: Any
    ) -> None:
        """A second training on domain 2 breaks off; domain 3 finds what the first one
        has left."""
        scenario, strategy = make_scenario(domains=3), udil()
        first, second, third = scenario.train_stream
        strategy.train(first)
        strategy.train(second)
        model, samples = strategy.history.model, strategy.replay.memory.fields[0]

        def stop(strategy: Any) -> None:
            raise KeyboardInterrupt

        breaks = watch("after_forward", stop)
        strategy.plugins.append(breaks)
        with pytest.raises(KeyboardInterrupt):
            strategy.train(second)
        strategy.plugins.remove(breaks)
        found = []
        strategy.plugins.append(
            watch(
                "before_training_epoch",
                lambda s: found.append((s.history.model, s.replay.memory.fields[0])),
            )
        )
        strategy.train(third)
        [(model_then, samples_then)] = found
        assert model_then is model
        assert torch.equal(samples_then, samples)
        assert strategy.replay.memory.n_domains == 3


class TestMemory:
    @pytest.mark.parametrize("stratified", [False, True])
    def test_every_sample_of_all_parts_is_as_likely(
        self, stratified: bool, make_scenario: Any
    ) -> None:
        """Of 40 samples in parts of 5, 15 and 20, 10 are drawn: each in a quarter of
        the draws."""
        labels = torch.arange(40) % 2
        data = [(torch.tensor([float(i)]), int(labels[i])) for i in range(40)]
        drawn = torch.zeros(40)
        for _ in range(400):
            memory = BalancedMemory(10, stratified)
            for begin, end in ((0, 5), (5, 20), (20, 40)):
                if begin:
                    memory.reopen_domain()
                memory.add_domain(
                    data[begin:end],  # type: ignore[arg-type]
                    labels[begin:end],
                    torch.device("cpu"),
                )
            found = memory.fields[0].flatten().long()
            assert len(found.unique()) == 10
            if stratified:
                assert torch.bincount(labels[found]).tolist() == [5, 5]
            drawn[found] += 1
        # Six standard deviations.
        assert (drawn / 400 - 0.25).abs().max() < 6 * (0.25 * 0.75 / 400) ** 0.5

    def test_a_share_is_drawn_from_all_parts(
        self, naive: Any, make_scenario: Any, make_model: Any
    ) -> None:
        scenario, replay = make_scenario(domains=1), BalancedReplayPlugin(mem_size=32)
        strategy, sizes = naive(make_model(), [replay]), []
        inputs = scenario.train_stream[0].dataset.batch(range(64))[0]
        for part in online(scenario):
            strategy.train(part)
            rows = (replay.memory.fields[0][:, None] == inputs).all(dim=2).nonzero()
            assert len(rows[:, 1].unique()) == len(replay.memory)
            sizes.append(torch.bincount(rows[:, 1] // 16, minlength=4).tolist())
        assert [sum(each) for each in sizes] == [16, 32, 32, 32]
        assert all(count > 0 for count in sizes[-1])

    def test_stored_logits_are_those_after_the_last_part(
        self, naive: Any, make_scenario: Any, make_model: Any
    ) -> None:
        scenario, der = make_scenario(domains=1), DERPlugin(mem_size=20)
        strategy = naive(make_model(), [der])
        for part in online(scenario):
            strategy.train(part)
        x, *_, logits = der.memory.fields
        with torch.no_grad():
            assert torch.allclose(strategy.model.eval()(x), logits, atol=1e-6)

    @pytest.mark.parametrize("plugin", [GEMPlugin, AGEMPlugin, DERPlugin])
    def test_methods_with_a_memory_count_domains_alike(
        self, plugin: Any, naive: Any, make_scenario: Any, make_model: Any
    ) -> None:
        scenario, made = make_scenario(domains=3), plugin(mem_size=30)
        strategy = naive(make_model(), [made])
        for part in online(scenario):
            strategy.train(part)
        assert made.memory.counts.tolist() == [10, 10, 10]

    def test_a_reservoir_counts_domains_alike(
        self, naive: Any, make_scenario: Any, make_model: Any
    ) -> None:
        replay = BalancedReplayPlugin(mem_size=30, reservoir=True)
        strategy = naive(make_model(), [replay])
        for part in online(make_scenario(domains=3)):
            strategy.train(part)
        assert replay.memory.n_domains == 3


class TestBaselines:
    def test_lwf_distils_from_before_the_domain(
        self, naive: Any, make_scenario: Any, make_model: Any
    ) -> None:
        history = HistoryModelPlugin()
        lwf, terms = LwFPlugin(history), []
        strategy = naive(make_model(), [history, lwf])
        for part in online(make_scenario(domains=2)):
            lwf.terms = {}
            strategy.train(part)
            terms.append(bool(lwf.terms))
        assert terms == [False] * 4 + [True] * 4

    def test_ewc_penalises_from_the_second_domain_on(
        self, naive: Any, make_scenario: Any, make_model: Any, watch: Any
    ) -> None:
        ewc, stars = OnlineEWCPlugin(ewc_lambda=1.0), []
        look = watch("after_forward", lambda s: stars.append(dict(ewc.theta_star)))
        strategy = naive(make_model(), [ewc, look])
        ends = []
        for part in online(make_scenario(domains=2)):
            strategy.train(part)
            ends.append(weights(strategy.model))
        assert stars[:4] == [{}] * 4
        for star in stars[4:]:
            flat = torch.cat([each.flatten() for each in star.values()])
            assert torch.equal(flat, ends[3])

    def test_ewc_averages_the_fisher_information_of_the_parts(
        self, naive: Any, make_scenario: Any, make_model: Any
    ) -> None:
        """With a learning rate of 0, it is that of the whole domain."""
        found, scenario = [], make_scenario(domains=1)
        for stream in (list(online(scenario, size=24)), scenario.train_stream):
            ewc = OnlineEWCPlugin()
            strategy = naive(make_model(), [ewc])
            strategy.optimizer.param_groups[0]["lr"] = 0.0
            for experience in stream:
                strategy.train(experience)
            found.append(ewc.fisher)
        for name, parts in found[0].items():
            assert torch.allclose(parts, found[1][name], rtol=1e-4), name

    def test_si_follows_one_path_through_all_parts(
        self, naive: Any, make_scenario: Any, make_model: Any
    ) -> None:
        """Its importances are those of a domain that is learned in one go."""
        found, scenario = [], make_scenario(domains=2)
        for in_parts in (True, False):
            si = SynapticIntelligencePlugin()
            strategy = naive(make_model(), [si])
            # Batches of 16 in their order, as the parts have them.
            settings = {} if in_parts else {"shuffle": False}
            stream = list(online(scenario)) if in_parts else scenario.train_stream
            for experience in stream:
                strategy.train(experience, **settings)
            found.append(si)
        for name, importance in found[0].importance.items():
            whole = found[1].importance[name]
            assert torch.allclose(importance, whole, atol=1e-6), name

    def test_esm_er_warms_up_once_a_domain(
        self, naive: Any, make_scenario: Any, make_model: Any
    ) -> None:
        replay = BalancedReplayPlugin(mem_size=30)
        esm_er = ESMERPlugin(replay, warmup=1.0)
        strategy = naive(make_model(), [replay, esm_er], criterion=esm_er)
        updates = []
        for part in online(make_scenario(domains=2)):
            strategy.train(part)
            updates.append(esm_er.loss_updates)
        assert updates == [0, 1, 2, 3, 3, 4, 5, 6]

    def test_cls_er_replays_past_domains_alone(
        self, naive: Any, make_scenario: Any, make_model: Any
    ) -> None:
        replay = BalancedReplayPlugin(mem_size=30)
        cls_er, terms = CLSERPlugin(replay), []
        strategy = naive(make_model(), [replay, cls_er])
        for part in online(make_scenario(domains=2)):
            strategy.train(part)
            terms.append(bool(cls_er.terms))
        assert terms == [False] * 4 + [True] * 4
