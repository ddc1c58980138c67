"""One run: settings in, a run folder out."""

import logging
import random
import resource
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import torch
from avalanche.benchmarks import CLExperience
from avalanche.evaluation.metrics import accuracy_metrics
from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.templates import SupervisedTemplate
from safetensors.torch import save
from torch import Tensor, nn

from udil_avalanche.benchmarks.fetching.mnist_files import MnistUnavailable
from udil_avalanche.build import build_benchmark, build_model, build_strategy
from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.errors import SettingsError
from udil_avalanche.evaluation.domain_metrics import DomainMetrics
from udil_avalanche.evaluation.embeddings import projected_embeddings
from udil_avalanche.evaluation.epoch_loss import EpochLoss
from udil_avalanche.evaluation.loggers import TensorboardLogger
from udil_avalanche.evaluation.plots import (
    plot_accuracy_matrix,
    plot_accuracy_per_domain,
    plot_coefficients,
    save_figure,
)
from udil_avalanche.evaluation.term_metrics import TermMetrics
from udil_avalanche.files import atomic_write
from udil_avalanche.plugins import AdaptiveCoefficientsPlugin, FiniteLossPlugin
from udil_avalanche.plugins.shared.averaged_model import evaluated_model
from udil_avalanche.runs.progress import ProgressPlugin
from udil_avalanche.runs.run_folder import RunFolder, versions
from udil_avalanche.runs.state.checkpoint import StateFolder
from udil_avalanche.runs.state.lock import locked
from udil_avalanche.runs.state.run_log import RunLog
from udil_avalanche.runs.state.saving import SavingPlugin, first_step
from udil_avalanche.runs.state.stop import StopRequest
from udil_avalanche.runs.torch_setup import set_up_torch
from udil_avalanche.settings import JointSettings, RunSettings, as_dict

logger = logging.getLogger(__name__)

STEPS_BETWEEN_LOGGED_TERMS = 20


def run(
    settings: RunSettings, say: Callable[[str], None] = logger.info
) -> dict[str, Any]:
    """Learn the domains of a benchmark one after another, or by joint training all at
    once, and keep all that is measured.

    A run that is done is not repeated; one that was broken off goes on from its last
    state and comes to the same result, bit for bit, as if nothing had happened.

    :param settings: what to run, see :func:`udil_avalanche.recipes.resolve.resolve`.
    :param say: is told if the run goes on or starts anew.
    :return: the result, as in ``result.json``.
    :raises SettingsError: if the settings cannot be run.
    :raises RunError: if the run cannot go on.
    :raises RunStopped: if Ctrl-C or SIGTERM has asked for it; the state is saved.
    """
    folder = RunFolder.of(settings)
    if folder.is_done:
        return folder.result()
    _set_up_torch(settings)
    try:
        benchmark = build_benchmark(settings)
    except (ValueError, MnistUnavailable) as error:
        raise SettingsError(str(error)) from error
    _seed(settings.seed)
    try:
        model = build_model(settings, benchmark)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    with locked(folder.path), StopRequest() as stop:
        if not folder.is_done:
            _learn(settings, benchmark, model, folder, stop, say)
    return folder.result()


def _learn(
    settings: RunSettings,
    benchmark: DomainScenario,
    model: nn.Module,
    folder: RunFolder,
    stop: StopRequest,
    say: Callable[[str], None],
) -> None:
    states = StateFolder(folder.state)
    state = states.read()
    if state is not None:
        folder.check_settings(settings)
    else:
        if folder.is_begun:
            say("This run was begun but not finished, nothing saved: starting it anew.")
        folder.begin(settings)

    metrics = DomainMetrics()
    tensorboard = TensorboardLogger(folder.tensorboard, first_step(state))
    evaluator = EvaluationPlugin(
        metrics,
        TermMetrics(every=STEPS_BETWEEN_LOGGED_TERMS),
        accuracy_metrics(experience=True),
        EpochLoss(),
        loggers=[tensorboard],
        collect_all=False,
    )
    joint = isinstance(settings, JointSettings)
    experiences = [benchmark.train_stream] if joint else benchmark.train_stream
    progress = ProgressPlugin(len(experiences))
    strategy = build_strategy(
        settings,
        model,
        evaluator=evaluator,
        plugins=[
            progress,
            FiniteLossPlugin(f"The last state before it, if any, is in {folder.state}"),
        ],
    )
    record = RunLog()
    saving = SavingPlugin(
        states,
        record,
        every=settings.save_every,
        stop=stop,
        before_saving=tensorboard.writer.flush,
    )
    saving.attach(strategy)

    with progress, closing(tensorboard.writer):
        if state is None:
            strategy.eval(benchmark.test_stream)
            record.begin()
        else:
            saving.resume(strategy, state)
            folder.write_metrics(record.lines)
            say(
                "This run was begun but not finished: going on after step "
                f"{strategy.clock.train_iterations}, in domain "
                f"{min(record.experiences_done + 1, len(experiences))}."
            )
        for experience in experiences[record.experiences_done :]:
            strategy.train(experience)
            strategy.eval(_tested(settings, benchmark, len(metrics.trained_domains)))
            record.tick()
            line = _domain_line(strategy, metrics, record.experience_seconds)
            progress.end_domain(line["avg_acc"])
            saving.end_domain(strategy, line)
            folder.add_metrics(line)
    record.tick()

    _draw(folder.path, metrics, _trajectory(strategy))
    evaluated = evaluated_model(strategy)
    with atomic_write(folder.path / "model.safetensors") as unfinished:
        unfinished.write_bytes(save(evaluated.state_dict()))
    encoder = evaluated.get_submodule("encoder")
    embeddings = projected_embeddings(encoder, benchmark, settings.device)
    folder.write_json("embeddings.json", embeddings)
    folder.finish(
        {
            "benchmark": settings.benchmark,
            "strategy": settings.strategy,
            "memory": settings.memory,
            "joint": joint,
            "seed": settings.seed,
            "data": benchmark.data,
            **benchmark.details,
            **metrics.result(),
            "seconds": record.seconds,
            "seconds_saving": record.seconds_saving,
            "steps": strategy.clock.train_iterations,
            "peak_memory_mb": _peak_memory_mb(),
            "accuracy_matrix": metrics.matrix.tolist(),
            "random_accuracy": metrics.initial.tolist(),
            "settings": as_dict(settings),
            "versions": versions(),
        }
    )
    states.remove()


def _tested(
    settings: RunSettings, benchmark: DomainScenario, t: int
) -> Sequence[CLExperience]:
    """The domains to test on after domain ``t``.

    Average accuracy and forgetting read the domains up to ``t``, forward transfer the
    one after it. (Forgetting's maximum over all earlier rows could lie above the
    diagonal only where a domain does worse from its own training on than before it.)

    :param settings: the settings of the run.
    :param benchmark: what is learned.
    :param t: how many domains have been learned.
    """
    if settings.test_all_domains:
        return benchmark.test_stream
    return benchmark.test_stream[: t + 1]


def _set_up_torch(settings: RunSettings) -> None:
    try:
        torch.zeros((), device=settings.device).item()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise SettingsError(f"device={settings.device}: {reason}") from error
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    set_up_torch()


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def _peak_memory_mb() -> float:
    """The most memory that the process has had so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bytes_of_unit = 1 if sys.platform == "darwin" else 1024
    return peak * bytes_of_unit / 2**20


def _domain_line(
    strategy: SupervisedTemplate, metrics: DomainMetrics, seconds: float
) -> dict[str, Any]:
    t = len(metrics.trained_domains)
    line = {
        "domain": t,
        "accuracies": metrics.matrix[t - 1].tolist(),
        **metrics.result(),
        "seconds": seconds,
        "steps": strategy.clock.train_iterations,
    }
    trajectory = _trajectory(strategy)
    if trajectory:
        alpha, beta, gamma = trajectory[-1].T.tolist()
        line |= {"alpha": alpha, "beta": beta, "gamma": gamma}
    return line


def _trajectory(strategy: SupervisedTemplate) -> list[Tensor]:
    """The coefficients at the end of each domain from the second on, if any."""
    for plugin in strategy.plugins:
        if isinstance(plugin, AdaptiveCoefficientsPlugin):
            return plugin.trajectory
    return []


def _draw(folder: Path, metrics: DomainMetrics, trajectory: list[Tensor]) -> None:
    accuracies = metrics.matrix
    save_figure(plot_accuracy_matrix(accuracies), folder / "accuracy_matrix.png")
    save_figure(
        plot_accuracy_per_domain(accuracies), folder / "accuracy_per_domain.png"
    )
    if trajectory:
        coefficients = [entry.numpy() for entry in trajectory]
        save_figure(plot_coefficients(coefficients), folder / "coefficients.png")


__all__ = ["run"]
