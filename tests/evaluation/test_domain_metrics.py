import copy
import io
import json

import numpy as np
import pytest
import torch
from avalanche.evaluation.metrics import accuracy_metrics
from avalanche.logging import (
    InteractiveLogger,
    TensorboardLogger,
    TextLogger,
)
from avalanche.training.supervised import JointTraining
from PIL.Image import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils._python_dispatch import TorchDispatchMode

from udil_avalanche.evaluation.domain_metrics import DomainMetrics, domain_metrics
from udil_avalanche.evaluation.formulas import (
    average_accuracy,
    average_of_average_accuracy,
    forgetting,
    forward_transfer,
)
from udil_avalanche.evaluation.loggers import CSVLogger

AVG_ACC = "Domain/avg_acc/eval_phase/test_stream"
AVG_OF_AVG_ACC = "Domain/avg_of_avg_acc/eval_phase/test_stream"
FORGETTING = "Domain/forgetting/eval_phase/test_stream"
FORWARD_TRANSFER = "Domain/forward_transfer/eval_phase/test_stream"
MATRIX = "Domain/accuracy_matrix/eval_phase/test_stream"

pytestmark = pytest.mark.filterwarnings("ignore:No loggers specified")


@torch.no_grad()
def accuracies_by_hand(model, test_data):
    model = copy.deepcopy(model).eval()
    percent = []
    for x, y in test_data:
        correct = sum(int(model(x[i : i + 1]).argmax() == y[i]) for i in range(len(x)))
        percent.append(100 * correct / len(x))
    return percent


def run(strategy, benchmark, test_data, *, initial=True):
    """Train on all domains; the matrix and r, computed from the models by hand."""
    r = accuracies_by_hand(strategy.model, test_data)
    if initial:
        strategy.eval(benchmark.test_stream)
    R, results = [], []
    for experience in benchmark.train_stream:
        strategy.train(experience)
        R.append(accuracies_by_hand(strategy.model, test_data))
        results.append(strategy.eval(benchmark.test_stream))
    return np.array(R), np.array(r), results


def test_whole_run_against_accuracies_by_hand(benchmark, test_data, make_strategy):
    [metric] = domain_metrics()
    strategy = make_strategy(metric)
    R, r, results = run(strategy, benchmark, test_data)

    assert len(np.unique(R)) > 3, "the domains should differ for this test to mean much"
    np.testing.assert_allclose(metric.matrix, R)
    np.testing.assert_allclose(metric.initial, r)
    for t, result in enumerate(results, start=1):
        assert result[AVG_ACC] == pytest.approx(average_accuracy(R, t))
        if t >= 2:
            assert result[FORGETTING] == pytest.approx(forgetting(R, t))
            assert result[FORWARD_TRANSFER] == pytest.approx(forward_transfer(R, r, t))
    assert FORGETTING not in results[0]
    assert FORWARD_TRANSFER not in results[0]
    assert metric.result() == {
        "avg_acc": results[-1][AVG_ACC],
        "avg_of_avg_acc": results[-1][AVG_OF_AVG_ACC],
        "forgetting": results[-1][FORGETTING],
        "forward_transfer": results[-1][FORWARD_TRANSFER],
    }


def test_values_lie_at_the_training_iterations(benchmark, test_data, make_strategy):
    strategy = make_strategy(domain_metrics())
    run(strategy, benchmark, test_data)
    positions, _ = strategy.evaluator.get_all_metrics()[AVG_ACC]
    assert positions == [8, 16, 24]


def test_average_is_over_seen_domains_not_samples(benchmark, make_strategy):
    metric = DomainMetrics()
    strategy = make_strategy(metric, accuracy_metrics(stream=True))
    strategy.train(benchmark.train_stream[0])
    result = strategy.eval(benchmark.test_stream)
    assert result[AVG_ACC] == metric.matrix[0, 0]

    strategy.train(benchmark.train_stream[1:])
    result = strategy.eval(benchmark.test_stream)
    sizes = [len(e.dataset) for e in benchmark.test_stream]
    by_samples = 100 * result["Top1_Acc_Stream/eval_phase/test_stream/Task000"]
    assert by_samples == pytest.approx(np.average(metric.matrix[2], weights=sizes))
    assert result[AVG_ACC] == pytest.approx(np.mean(metric.matrix[2]))
    assert result[AVG_ACC] != pytest.approx(by_samples)


def test_without_evaluation_before_training(benchmark, test_data, make_strategy):
    [metric] = domain_metrics()
    R, _, results = run(make_strategy(metric), benchmark, test_data, initial=False)
    np.testing.assert_allclose(metric.matrix, R)
    assert np.isnan(metric.initial).all()
    assert FORWARD_TRANSFER not in results[-1]
    assert metric.result()["forward_transfer"] is None
    assert results[-1][FORGETTING] == pytest.approx(forgetting(R, 3))


def test_evaluation_before_training_emits_nothing(benchmark, make_strategy):
    [metric] = domain_metrics()
    result = make_strategy(metric).eval(benchmark.test_stream)
    assert result == {}
    assert set(metric.result().values()) == {None}
    assert metric.matrix.shape == (3, 3)
    assert np.isnan(metric.matrix).all()


def test_evaluating_only_the_seen_domains(benchmark, test_data, make_strategy):
    [metric] = domain_metrics()
    strategy = make_strategy(metric)
    R = np.full((3, 3), np.nan)
    for t, experience in enumerate(benchmark.train_stream, start=1):
        strategy.train(experience)
        by_hand = accuracies_by_hand(strategy.model, test_data)
        R[t - 1, :t] = by_hand[:t]
        result = strategy.eval(benchmark.test_stream[:t])
        assert metric.matrix.shape == (t, t)
    np.testing.assert_allclose(metric.matrix, R)
    assert result[AVG_ACC] == pytest.approx(average_accuracy(R, 3))
    assert result[FORGETTING] == pytest.approx(forgetting(R, 3))
    assert FORWARD_TRANSFER not in result


def test_domains_evaluated_one_call_each_share_a_row(benchmark, make_strategy):
    [whole], [single] = domain_metrics(), domain_metrics()
    strategy = make_strategy(whole)
    strategy.train(benchmark.train_stream[:2])
    strategy.eval(benchmark.test_stream)
    strategy.evaluator.metrics = [single]
    single.load_state_dict({"trained_domains": [0, 1], "accuracies": []})
    for experience in benchmark.test_stream:
        assert single.result()["avg_acc"] is None or experience.current_experience == 2
        strategy.eval(experience)
    np.testing.assert_array_equal(single.matrix, whole.matrix)


@pytest.mark.parametrize("eval_every", [0, 1])
@pytest.mark.parametrize("stream", ["train", "test"])
def test_evaluation_inside_training_leaves_the_matrix_right(
    benchmark, test_data, make_strategy, eval_every, stream
):
    [metric] = domain_metrics()
    strategy = make_strategy(metric, eval_every=eval_every)
    r = accuracies_by_hand(strategy.model, test_data)
    strategy.eval(benchmark.test_stream)
    R = []
    for experience in benchmark.train_stream:
        strategy.train(experience, eval_streams=[benchmark.streams[stream]])
        R.append(accuracies_by_hand(strategy.model, test_data))
        strategy.eval(benchmark.test_stream)
        np.testing.assert_allclose(metric.initial, r)
        np.testing.assert_allclose(metric.matrix[: len(R)], R)


def test_values_of_unfinished_domains_are_not_emitted(benchmark, make_strategy):
    strategy = make_strategy(domain_metrics(), eval_every=1)
    result = strategy.train(
        benchmark.train_stream[0], eval_streams=[benchmark.test_stream]
    )
    assert AVG_ACC not in result


def test_evaluations_that_belong_to_no_row_emit_nothing(benchmark, make_strategy):
    strategy = make_strategy(domain_metrics(), eval_every=1)
    strategy.train(benchmark.train_stream[0])
    strategy.eval(benchmark.test_stream)
    strategy.eval(benchmark.train_stream)
    strategy.train(benchmark.train_stream[1], eval_streams=[benchmark.train_stream])
    curves = strategy.evaluator.get_all_metrics()
    assert set(curves) == {AVG_ACC, AVG_OF_AVG_ACC, MATRIX}
    assert curves[AVG_ACC][0] == [8]


def test_final_evaluation_inside_train_fills_the_row(
    benchmark, test_data, make_strategy
):
    [metric] = domain_metrics()
    strategy = make_strategy(metric, eval_every=0)
    r = accuracies_by_hand(strategy.model, test_data)
    result = strategy.train(
        benchmark.train_stream, eval_streams=[benchmark.test_stream]
    )
    np.testing.assert_allclose(metric.initial, r)
    last_row = accuracies_by_hand(strategy.model, test_data)
    np.testing.assert_allclose(metric.matrix[2], last_row)
    assert not np.isnan(metric.matrix).any()
    assert result[AVG_ACC] == pytest.approx(np.mean(last_row))


def test_training_twice_on_a_domain_overwrites_its_row(
    benchmark, test_data, make_strategy
):
    [metric] = domain_metrics()
    strategy = make_strategy(metric)
    first, second, _ = benchmark.train_stream
    strategy.train(first)
    strategy.eval(benchmark.test_stream)
    before = metric.matrix[0]

    strategy.train(first)
    assert np.isnan(metric.matrix).all(), "the old row is of a model that is gone"
    strategy.eval(benchmark.test_stream)
    again = accuracies_by_hand(strategy.model, test_data)
    assert not np.allclose(before, again)
    np.testing.assert_allclose(metric.matrix[0], again)

    strategy.train(second)
    strategy.eval(benchmark.test_stream)
    np.testing.assert_allclose(
        metric.matrix[:2], [again, accuracies_by_hand(strategy.model, test_data)]
    )
    assert np.isnan(metric.matrix[2]).all()


def test_domains_are_numbered_in_the_order_of_training(
    benchmark, test_data, make_strategy
):
    [metric] = domain_metrics()
    strategy = make_strategy(metric)
    strategy.train(benchmark.train_stream[2])
    result = strategy.eval(benchmark.test_stream)
    by_hand = accuracies_by_hand(strategy.model, test_data)
    assert metric.domains == [2, 0, 1]
    np.testing.assert_allclose(metric.matrix[0], [by_hand[i] for i in (2, 0, 1)])
    assert result[AVG_ACC] == pytest.approx(by_hand[2])


def test_joint_training_fills_the_last_row(benchmark, test_data, make_strategy):
    [metric] = domain_metrics()
    strategy = make_strategy(metric, cls=JointTraining)
    strategy.train(benchmark.train_stream)
    result = strategy.eval(benchmark.test_stream)
    by_hand = accuracies_by_hand(strategy.model, test_data)
    np.testing.assert_allclose(metric.matrix[2], by_hand)
    assert np.isnan(metric.matrix[:2]).all()
    assert result[AVG_ACC] == pytest.approx(np.mean(by_hand))
    assert FORGETTING not in result


def test_another_stream_can_be_the_tested_one(benchmark, make_strategy):
    [metric] = domain_metrics(stream="train")
    strategy = make_strategy(metric, accuracy_metrics(experience=True))
    strategy.train(benchmark.train_stream[0])
    strategy.eval(benchmark.test_stream)
    assert metric.domains == [0]
    result = strategy.eval(benchmark.train_stream)
    by_avalanche = [
        result[f"Top1_Acc_Exp/eval_phase/train_stream/Task000/Exp00{i}"]
        for i in range(3)
    ]
    np.testing.assert_allclose(metric.matrix[0], 100 * np.array(by_avalanche))


def test_a_resumed_run_goes_on_with_its_matrix(benchmark, test_data, make_strategy):
    [uninterrupted] = domain_metrics()
    strategy = make_strategy(uninterrupted)
    strategy.eval(benchmark.test_stream)
    strategy.train(benchmark.train_stream[:2])
    strategy.eval(benchmark.test_stream)
    state = json.loads(json.dumps(uninterrupted.state_dict()))

    resumed = DomainMetrics()
    resumed.load_state_dict(state)
    np.testing.assert_array_equal(resumed.matrix, uninterrupted.matrix)
    np.testing.assert_array_equal(resumed.initial, uninterrupted.initial)
    strategy.evaluator.metrics = [uninterrupted, resumed]
    strategy.train(benchmark.train_stream[2])
    strategy.eval(benchmark.test_stream)
    np.testing.assert_array_equal(resumed.matrix, uninterrupted.matrix)
    assert resumed.result() == uninterrupted.result()


def test_hits_are_read_back_once_per_domain(benchmark, make_strategy):
    class Reads(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += func is torch.ops.aten._local_scalar_dense.default
            return func(*args, **(kwargs or {}))

    reads = Reads()

    class Watched(DomainMetrics):
        def after_eval_iteration(self, strategy):
            with reads:
                return super().after_eval_iteration(strategy)

        def after_eval_exp(self, strategy):
            with reads:
                return super().after_eval_exp(strategy)

    strategy = make_strategy(Watched())
    strategy.train(benchmark.train_stream[0])
    strategy.eval(benchmark.test_stream)
    assert reads.count == len(benchmark.test_stream)


def test_printing_loggers_show_the_values(benchmark, make_strategy, tmp_path, capsys):
    text = io.StringIO()
    csv_logger = CSVLogger(str(tmp_path))
    loggers = [InteractiveLogger(), TextLogger(text), csv_logger]
    [metric] = domain_metrics()
    strategy = make_strategy(metric, loggers=loggers)
    strategy.eval(benchmark.test_stream)
    for experience in benchmark.train_stream:
        strategy.train(experience)
        strategy.eval(benchmark.test_stream)
    csv_logger.close()

    last_row = " ".join(f"{value:.1f}" for value in metric.matrix[2])
    for output in (text.getvalue(), capsys.readouterr().out):
        assert f"{AVG_ACC} = {metric.result()['avg_acc']:.4f}" in output
        assert f"{FORGETTING} = {metric.result()['forgetting']:.4f}" in output
        assert f"{MATRIX} = after domain 3: {last_row}" in output
    evaluations = (tmp_path / "eval_results.csv").read_text().splitlines()
    assert len(evaluations) == 1 + 4 * 3
    last = f"{AVG_ACC},{metric.result()['avg_acc']}"
    assert (tmp_path / "metrics.csv").read_text().count(last) == 1


def test_tensorboard_shows_scalars_and_one_picture_per_evaluation(
    benchmark, test_data, make_strategy, tmp_path
):
    logger = TensorboardLogger(tmp_path)
    strategy = make_strategy(domain_metrics(), loggers=[logger])
    R, r, _ = run(strategy, benchmark, test_data)
    logger.writer.close()

    events = EventAccumulator(str(tmp_path))
    events.Reload()
    expected = {
        AVG_ACC: [(8 * t, average_accuracy(R, t)) for t in (1, 2, 3)],
        AVG_OF_AVG_ACC: [
            (8 * t, average_of_average_accuracy(R, 1, t)) for t in (1, 2, 3)
        ],
        FORGETTING: [(8 * t, forgetting(R, t)) for t in (2, 3)],
        FORWARD_TRANSFER: [(8 * t, forward_transfer(R, r, t)) for t in (2, 3)],
    }
    assert set(events.Tags()["scalars"]) == set(expected)
    for name, points in expected.items():
        logged = events.Scalars(name)
        assert [event.step for event in logged] == [step for step, _ in points]
        assert [event.value for event in logged] == pytest.approx(
            [value for _, value in points]
        )
    pictures = events.Images(MATRIX)
    assert [picture.step for picture in pictures] == [8, 16, 24]
    assert pictures[-1].width > 300


def test_the_matrix_is_drawn_only_for_loggers_that_take_pictures(
    benchmark, make_strategy
):
    strategy = make_strategy(domain_metrics())
    strategy.train(benchmark.train_stream[0])
    value = strategy.eval(benchmark.test_stream)[MATRIX]
    assert value.best_supported_value(float, int) is None
    assert isinstance(value.best_supported_value(float, Image), Image)


def test_wandb_takes_the_values(benchmark, test_data, make_strategy, wandb_logger):
    strategy = make_strategy(domain_metrics(), loggers=[wandb_logger])
    R, _, _ = run(strategy, benchmark, test_data)
    wandb_logger.log_single_metric("a later step commits the earlier", 0, 1000)
    summary = dict(wandb_logger.wandb.run.summary)
    assert summary[AVG_ACC] == pytest.approx(average_accuracy(R, 3))
    assert summary[FORGETTING] == pytest.approx(forgetting(R, 3))
    assert summary[MATRIX]["_type"] == "image-file"
