"""Online EWC."""

import copy
from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin
from torch.nn import functional as F

from udil_avalanche.plugins import BalancedReplayPlugin, OnlineEWCPlugin
from udil_avalanche.plugins.baselines.fisher import diagonal_fisher


def inputs(experience: Any) -> torch.Tensor:
    return torch.stack([sample[0] for sample in experience.dataset])


def weights(strategy: Any) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in strategy.model.parameters()])


@pytest.mark.parametrize("gamma", [1.0, 0.5])
def test_fisher_is_a_running_sum_over_the_domains(
    naive: Any, make_scenario: Any, make_model: Any, gamma: float
) -> None:
    ewc = OnlineEWCPlugin(ewc_lambda=2.0, gamma=gamma)
    ewc.fisher_batch_size = 10
    strategy = naive(make_model(), [ewc])
    expected: dict[str, torch.Tensor] = {}
    for experience in make_scenario().train_stream:
        strategy.train(experience)
        new = diagonal_fisher(strategy.model, [inputs(experience)])
        expected = {
            name: gamma * expected[name] + fisher if expected else fisher
            for name, fisher in new.items()
        }
        assert ewc.fisher.keys() == dict(strategy.model.named_parameters()).keys()
        for name, p in strategy.model.named_parameters():
            torch.testing.assert_close(ewc.fisher[name], expected[name])
            assert torch.equal(ewc.theta_star[name], p)
            assert ewc.theta_star[name].data_ptr() != p.data_ptr()


class CheckGradient(SupervisedPlugin):
    """Compares every gradient with task + lambda gamma F* (theta - theta*), and the
    loss with the penalty's definition, parameter by parameter."""

    def __init__(self, ewc: OnlineEWCPlugin) -> None:
        super().__init__()
        self.ewc = ewc
        self.penalties: list[float] = []

    def after_backward(self, strategy: Any, **kwargs: Any) -> None:
        twin = copy.deepcopy(strategy.model)
        twin.zero_grad()
        task = F.cross_entropy(twin(strategy.mb_x), strategy.mb_y)
        task.backward()
        ewc, penalty = self.ewc, 0.0
        for (name, p), q in zip(
            strategy.model.named_parameters(), twin.parameters(), strict=True
        ):
            expected = q.grad
            if ewc.fisher:
                stretch = p.detach() - ewc.theta_star[name]
                factor = ewc.ewc_lambda * ewc.gamma * ewc.fisher[name]
                expected = expected + factor * stretch
                penalty += float((factor / 2 * stretch**2).sum())
            torch.testing.assert_close(p.grad, expected, rtol=1e-4, atol=1e-6)
        loss = strategy.loss.item()
        assert loss == pytest.approx(task.item() + penalty, rel=1e-4)
        self.penalties.append(penalty)
        logged = float(ewc.terms.get("ewc_penalty", 0.0))
        assert logged == pytest.approx(penalty, rel=1e-4)


def test_every_step_follows_the_papers_objective(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    ewc = OnlineEWCPlugin(ewc_lambda=3.0, gamma=0.8)
    check = CheckGradient(ewc)
    strategy = naive(make_model(), [ewc, check], train_epochs=2)
    strategy.train(make_scenario().train_stream)
    domains = [check.penalties[i : i + 8] for i in (0, 8, 16)]
    assert domains[0] == [0.0] * 8, "there is no past yet"
    for penalties in domains[1:]:
        assert penalties[0] == 0.0, "nothing has moved yet"
        assert all(penalty > 0 for penalty in penalties[1:])


@pytest.mark.parametrize(
    ("ewc_lambda", "gamma", "same"),
    [(0.0, 1.0, True), (3.0, 0.0, True), (3.0, 1, False)],
)
def test_without_a_weight_or_a_past_it_is_fine_tuning(
    naive: Any,
    make_scenario: Any,
    make_model: Any,
    ewc_lambda: float,
    gamma: float,
    same: bool,
) -> None:
    scenario, results = make_scenario(), []
    for plugins in ([OnlineEWCPlugin(ewc_lambda, gamma)], []):
        strategy = naive(make_model(), plugins)
        strategy.train(scenario.train_stream)
        results.append(weights(strategy))
    assert torch.equal(*results) == same


def test_it_forgets_less_than_fine_tuning(gain_over_fine_tuning: Any) -> None:
    accuracy, forgetting = gain_over_fine_tuning([OnlineEWCPlugin(10.0)])
    assert accuracy > 10 and forgetting > 15


def test_fisher_does_not_depend_on_the_batch_size(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    """Neither on that of the Fisher pass nor, for equal weights, on that of training,
    as Avalanche's does."""
    experience = make_scenario().train_stream[0]
    fishers = []
    for train_mb_size, fisher_batch_size in ((16, 512), (16, 7), (64, 7)):
        ewc = OnlineEWCPlugin()
        ewc.fisher_batch_size = fisher_batch_size
        settings = {"train_epochs": 0, "train_mb_size": train_mb_size}
        naive(make_model(), [ewc], **settings).train(experience)
        fishers.append(ewc.fisher)
    for name, fisher in fishers[0].items():
        torch.testing.assert_close(fishers[1][name], fisher)
        torch.testing.assert_close(fishers[2][name], fisher)


def test_fisher_of_a_random_part_of_the_domain(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    experience = make_scenario().train_stream[0]
    seen: list[torch.Tensor] = []

    class Watched(OnlineEWCPlugin):
        def _inputs(self, strategy: Any) -> Any:
            for x in super()._inputs(strategy):
                seen.append(x)
                yield x

    ewc = Watched(n_samples=10)
    ewc.fisher_batch_size = 4
    strategy = naive(make_model(), [ewc])
    strategy.train(experience)
    assert [len(x) for x in seen] == [4, 4, 2]
    rows = {tuple(row) for row in torch.cat(seen).tolist()}
    everything = {tuple(row) for row in inputs(experience).tolist()}
    assert len(rows) == 10 and rows < everything
    expected = diagonal_fisher(strategy.model, [torch.cat(seen)])
    for name, fisher in ewc.fisher.items():
        torch.testing.assert_close(fisher, expected[name])
    with pytest.raises(ValueError, match="n_samples must be positive"):
        OnlineEWCPlugin(n_samples=0)


def test_fisher_is_that_of_the_domain_without_the_memory(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    stream = make_scenario().train_stream
    ewc = OnlineEWCPlugin(gamma=0.0)
    strategy = naive(make_model(), [BalancedReplayPlugin(mem_size=20), ewc])
    strategy.train(stream[:2])
    expected = diagonal_fisher(strategy.model, [inputs(stream[1])])
    for name, fisher in ewc.fisher.items():
        torch.testing.assert_close(fisher, expected[name])


def test_datasets_with_transformations(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    experience = make_scenario().train_stream[0]
    dataset = experience.dataset.eval()
    experience._dataset = dataset.replace_current_transform_group(lambda x: 2 * x)
    ewc = OnlineEWCPlugin()
    strategy = naive(make_model(), [ewc])
    strategy.train(experience)
    twice = torch.stack([2 * sample[0] for sample in dataset])
    expected = diagonal_fisher(strategy.model, [twice])
    for name, fisher in ewc.fisher.items():
        torch.testing.assert_close(fisher, expected[name])


def test_batch_norm_statistics_do_not_move_with_the_fisher_pass(
    naive: Any, make_scenario: Any, make_batchnorm_model: Any
) -> None:
    model = make_batchnorm_model()
    before: dict[str, torch.Tensor] = {}

    class Remember(SupervisedPlugin):
        def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
            before.update(copy.deepcopy(strategy.model.state_dict()))

    ewc = OnlineEWCPlugin()
    naive(model, [Remember(), ewc]).train(make_scenario().train_stream[0])
    assert model.training
    assert before["1.running_mean"].abs().sum() > 0
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), f"{name} has changed"
    assert ewc.fisher.keys() == dict(model.named_parameters()).keys()
