import io

import pytest
import torch
from avalanche.core import SupervisedPlugin
from avalanche.logging import (
    InteractiveLogger,
    TensorboardLogger,
    TextLogger,
)
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from udil_avalanche.evaluation.loggers import CSVLogger
from udil_avalanche.evaluation.term_metrics import term_metrics

BATCHES = 4

pytestmark = pytest.mark.filterwarnings("ignore:No loggers specified")


def full_name(term):
    return f"Terms/{term}/train_phase/train_stream"


class CountingPlugin(SupervisedPlugin):
    """Iteration number and its square; the square only at odd iterations."""

    def __init__(self):
        super().__init__()
        self.iteration = 0
        self.terms = {}

    def before_training_iteration(self, strategy, **kwargs):
        number = torch.tensor(float(self.iteration))
        self.terms = {"number": number}
        if self.iteration % 2 == 1:
            self.terms["odd_square"] = number**2
        self.iteration += 1


class LossPlugin(SupervisedPlugin):
    """Exposes the live loss, changes its tensor in place, keeps what it was."""

    def __init__(self):
        super().__init__()
        self.terms = {"loss": torch.zeros(())}
        self.seen = []

    def before_backward(self, strategy, **kwargs):
        self.terms["loss"].copy_(strategy.loss.detach().squeeze())
        self.seen.append(strategy.loss.item())


class SilentPlugin(SupervisedPlugin):
    def __init__(self, terms):
        super().__init__()
        self.terms = terms


def curve(strategy, term):
    return strategy.evaluator.get_all_metrics()[full_name(term)]


def test_mean_over_each_epoch(benchmark, make_strategy):
    strategy = make_strategy(term_metrics(), plugins=[CountingPlugin()])
    strategy.train(benchmark.train_stream[0])
    assert curve(strategy, "number") == ([4, 8], [1.5, 5.5])
    assert curve(strategy, "odd_square") == ([4, 8], [(1 + 9) / 2, (25 + 49) / 2])


def test_terms_that_change_in_place(benchmark, make_strategy):
    plugin = LossPlugin()
    strategy = make_strategy(term_metrics(), plugins=[plugin])
    strategy.train(benchmark.train_stream[:2])
    positions, means = curve(strategy, "loss")
    assert positions == [4, 8, 12, 16]
    by_hand = torch.tensor(plugin.seen, dtype=torch.float64).view(-1, BATCHES).mean(1)
    assert means == pytest.approx(by_hand.tolist(), rel=1e-6)


def test_terms_of_several_plugins_and_plugins_without(benchmark, make_strategy):
    plugins = [CountingPlugin(), SilentPlugin({}), LossPlugin(), SilentPlugin(None)]
    strategy = make_strategy(term_metrics(), plugins=plugins)
    result = strategy.train(benchmark.train_stream[0])
    assert set(result) == {full_name(n) for n in ("number", "odd_square", "loss")}


def test_no_terms_at_all(benchmark, make_strategy):
    strategy = make_strategy(term_metrics(), plugins=[SilentPlugin({})])
    assert strategy.train(benchmark.train_stream[0]) == {}


def test_a_term_that_disappears_is_not_repeated(benchmark, make_strategy):
    class FirstEpochOnly(CountingPlugin):
        def before_training_iteration(self, strategy, **kwargs):
            super().before_training_iteration(strategy)
            if strategy.clock.train_exp_epochs > 0:
                self.terms = {}

    strategy = make_strategy(term_metrics(), plugins=[FirstEpochOnly()])
    strategy.train(benchmark.train_stream[0])
    assert curve(strategy, "number") == ([4], [1.5])


def test_an_interrupted_epoch_is_forgotten(benchmark, make_strategy):
    class InterruptedOnce(CountingPlugin):
        def before_forward(self, strategy, **kwargs):
            if self.iteration == 3:
                raise KeyboardInterrupt

    plugin = InterruptedOnce()
    strategy = make_strategy(term_metrics(), plugins=[plugin])
    with pytest.raises(KeyboardInterrupt):
        strategy.train(benchmark.train_stream[0])
    strategy.train(benchmark.train_stream[0])
    assert curve(strategy, "number")[1][0] == (3 + 4 + 5 + 6) / 4


def test_every_few_iterations(benchmark, make_strategy):
    strategy = make_strategy(term_metrics(every=3), plugins=[CountingPlugin()])
    strategy.train(benchmark.train_stream[0])
    _, means = curve(strategy, "number")
    assert means == [(0 + 1 + 2) / 3, 3, (4 + 5 + 6) / 3, 7]


def test_evaluation_inside_training_changes_nothing(benchmark, make_strategy):
    strategy = make_strategy(term_metrics(), plugins=[CountingPlugin()], eval_every=1)
    strategy.train(benchmark.train_stream[0], eval_streams=[benchmark.test_stream])
    assert curve(strategy, "number")[1] == [1.5, 5.5]


def test_attached_terms_do_not_keep_the_graph(benchmark, make_strategy):
    class Attached(SupervisedPlugin):
        terms: dict

        def before_backward(self, strategy, **kwargs):
            self.terms = {"attached": strategy.loss}

    metric = term_metrics()
    strategy = make_strategy(metric, plugins=[Attached()])
    kept = []
    original = metric.after_training_iteration

    def watched(strategy):
        result = original(strategy)
        kept.extend(total.requires_grad for total in metric._sums.values())
        return result

    metric.after_training_iteration = watched
    strategy.train(benchmark.train_stream[0])
    assert kept == [False] * 8


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        (
            [SilentPlugin({"vector": torch.zeros(3)})],
            r"'vector' of SilentPlugin has shape \(3,\)",
        ),
        (
            [SilentPlugin({"x": torch.ones(())}), SilentPlugin({"x": torch.ones(())})],
            "Two plugins have a term 'x'",
        ),
    ],
)
def test_errors_say_which_term(benchmark, make_strategy, plugins, message):
    strategy = make_strategy(term_metrics(), plugins=plugins)
    with pytest.raises(ValueError, match=message):
        strategy.train(benchmark.train_stream[0])


def test_every_counts_from_one():
    with pytest.raises(ValueError, match="at least 1; got 0"):
        term_metrics(every=0)


def test_loggers_show_the_means(benchmark, make_strategy, tmp_path, capsys):
    text = io.StringIO()
    csv_logger = CSVLogger(str(tmp_path / "csv"))
    tensorboard = TensorboardLogger(tmp_path / "tb")
    loggers = [InteractiveLogger(), TextLogger(text), csv_logger, tensorboard]
    strategy = make_strategy(
        term_metrics(), plugins=[CountingPlugin()], loggers=loggers
    )
    strategy.train(benchmark.train_stream[0])
    csv_logger.close()
    tensorboard.writer.close()

    for output in (text.getvalue(), capsys.readouterr().out):
        assert f"{full_name('number')} = 1.5000" in output
        assert f"{full_name('odd_square')} = 37.0000" in output
    rows = (tmp_path / "csv" / "metrics.csv").read_text().splitlines()
    assert f"8,{full_name('odd_square')},37.0" in rows
    events = EventAccumulator(str(tmp_path / "tb"))
    events.Reload()
    logged = events.Scalars(full_name("odd_square"))
    assert [(e.step, e.value) for e in logged] == [(4, 5.0), (8, 37.0)]


def test_wandb_takes_the_means(benchmark, make_strategy, wandb_logger):
    strategy = make_strategy(
        term_metrics(), plugins=[CountingPlugin()], loggers=[wandb_logger]
    )
    strategy.train(benchmark.train_stream[0])
    wandb_logger.log_single_metric("a later step commits the earlier", 0, 1000)
    summary = dict(wandb_logger.wandb.run.summary)
    assert summary[full_name("number")] == 5.5
