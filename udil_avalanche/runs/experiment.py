"""One run: settings in, a run folder out."""

import logging
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import torch
from avalanche.evaluation.metrics import accuracy_metrics
from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.templates import SupervisedTemplate
from safetensors.torch import save
from torch import nn

from udil_avalanche.data.image_reading import BadImage
from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.errors import RunError, SettingsError
from udil_avalanche.evaluation.bound_plots import (
    plot_bound,
    plot_divergence_and_beta,
)
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
from udil_avalanche.files import atomic_write, remove_unfinished
from udil_avalanche.plugins import DeadTrainingPlugin, FiniteLossPlugin
from udil_avalanche.plugins.loaders.image_loader import lost_workers_explained
from udil_avalanche.plugins.shared.averaged_model import evaluated_model
from udil_avalanche.recipes import METHODS, RunSettings, as_dict
from udil_avalanche.recipes.build import build_benchmark, build_model, build_strategy
from udil_avalanche.runs.feasible import (
    check_batch_size,
    check_machine,
    check_model_size,
)
from udil_avalanche.runs.progress import ProgressPlugin
from udil_avalanche.runs.result import RunResult
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.runs.state.checkpoint import StateFolder
from udil_avalanche.runs.state.lock import locked
from udil_avalanche.runs.state.origin import check_origin, origin_of
from udil_avalanche.runs.state.run_log import RunLog
from udil_avalanche.runs.state.saving import SavingPlugin, first_step
from udil_avalanche.runs.state.stop import StopRequest
from udil_avalanche.runs.torch_setup import seed_all, set_up_torch
from udil_avalanche.runs.versions import versions

logger = logging.getLogger(__name__)

STEPS_BETWEEN_LOGGED_TERMS = 20

STOPPED_AT_THE_END = (
    "stopped after the last domain; the state is saved, and the same command draws the "
    "pictures and writes the result"
)


def run(settings: RunSettings, say: Callable[[str], None] = logger.info) -> RunResult:
    """Learn the domains of a benchmark one after another, or all at once in joint
    training, and write what is measured to a run folder.

    A run that is done is not repeated. One that was interrupted resumes from its last
    state, and its result is the same, bit for bit, as without the interruption.

    :param settings: what to run, see :func:`udil_avalanche.recipes.resolve.resolve`.
    :param say: is told whether the run resumes or starts again.
    :return: the result, as in ``result.json``.
    :raises SettingsError: if the settings cannot be run.
    :raises RunError: if the run cannot continue.
    :raises RunStopped: after Ctrl-C or SIGTERM; the state is saved.
    """
    folder = RunFolder.of(settings)
    if folder.holds(settings):
        return folder.result()
    check_machine(settings)
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    set_up_torch()
    try:
        benchmark = build_benchmark(settings)
        check_model_size(settings, benchmark)
        seed_all(settings.seed)
        model = build_model(settings, benchmark)
        check_batch_size(settings, benchmark, model)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    with locked(folder.path), StopRequest() as stop:
        if not folder.holds(settings):
            try:
                with lost_workers_explained():
                    _learn(settings, benchmark, model, folder, stop, say)
            except BadImage as error:
                raise RunError(
                    f"{error}\nRepair or remove it, and start the same command again; "
                    "verify_images=true names all such files first"
                ) from error
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
        check_origin(state, settings, benchmark, folder)
        remove_unfinished(folder.path)
    else:
        if folder.is_begun:
            say("This run was started but nothing was saved: starting again.")
        folder.begin(settings)

    joint = METHODS[settings.strategy].is_joint
    experiences = [benchmark.train_stream] if joint else benchmark.train_stream
    metrics, log = DomainMetrics(), RunLog(folder.metrics)
    progress = ProgressPlugin(len(experiences))
    tensorboard = TensorboardLogger(folder.tensorboard, first_step(state))
    dead = DeadTrainingPlugin(_what_to_try(settings), say)
    strategy = build_strategy(
        settings,
        model,
        evaluator=_evaluator(metrics, tensorboard),
        plugins=[
            progress,
            FiniteLossPlugin(f"The last state before it, if any, is in {folder.state}"),
            dead,
        ],
    )
    saving = SavingPlugin(
        states,
        log,
        every=settings.save_every,
        stop=stop,
        before_saving=tensorboard.writer.flush,
        origin=origin_of(settings, benchmark),
    )
    strategy.plugins.append(saving)

    with progress.bar, closing(tensorboard.writer):
        if state is None:
            strategy.eval(benchmark.test_stream)
            log.begin()
        else:
            saving.resume(strategy, state)
            _restore(metrics, log)
            say(
                "This run was started but not finished: resuming after step "
                f"{strategy.clock.train_iterations}, in domain "
                f"{min(log.experiences_done + 1, len(experiences))}."
            )
        for experience in experiences[log.experiences_done :]:
            _forget_written(strategy)
            strategy.train(experience)
            strategy.eval(_tested(settings, benchmark, len(metrics.trained_domains)))
            log.tick()
            line = _measured(strategy, metrics, log.experience_seconds)
            if dead.message is not None:
                line["not_learned"] = dead.message
            progress.end_domain(line["avg_acc"], line["seconds"])
            metrics.rows_kept_elsewhere = len(metrics.trained_domains)
            saving.end_domain(strategy, line)

    lines = log.lines
    learned = evaluated_model(strategy)
    _draw(folder.path, metrics, lines)
    stop.check(STOPPED_AT_THE_END)
    _write_model(folder, learned)
    _write_embeddings(folder, learned, benchmark, settings.device)
    stop.check(STOPPED_AT_THE_END)
    log.tick()
    result = _result(settings, benchmark, metrics, log, strategy)
    said = [line["not_learned"] for line in lines if "not_learned" in line]
    if said:
        result["not_learned"] = said
    folder.finish({**result, **benchmark.details})
    shutil.rmtree(folder.state, ignore_errors=True)


def _what_to_try(settings: RunSettings) -> str:
    clipping = ", or clip_norm=1" if settings.clip_norm is None else ""
    return f"try a smaller lr than {settings.lr:g}{clipping}"


def _evaluator(
    metrics: DomainMetrics, tensorboard: TensorboardLogger
) -> EvaluationPlugin:
    return EvaluationPlugin(
        metrics,
        TermMetrics(every=STEPS_BETWEEN_LOGGED_TERMS),
        accuracy_metrics(experience=True),
        EpochLoss(),
        loggers=[tensorboard],
        collect_all=False,
    )


def _tested(settings: RunSettings, benchmark: DomainScenario, t: int) -> Any:
    """The domains to test on when ``t`` domains have been learned. Between two tests of
    all domains (``test_every``), the newest and the next one.

    Average accuracy and forgetting need the domains up to ``t``, forward transfer the
    one after it. (Forgetting compares with the best of all earlier accuracies. One from
    before a domain was learned could be the best only if learning it did harm.)
    """
    is_last = t == len(benchmark.test_stream)
    if t % settings.test_every and not is_last:
        return benchmark.test_stream[t - 1 : t + 1]
    return benchmark.test_stream[: None if settings.test_all_domains else t + 1]


def _measured(
    strategy: SupervisedTemplate, metrics: DomainMetrics, seconds: float
) -> dict[str, Any]:
    """The line of ``metrics.jsonl`` for the domain that has just been learned."""
    t = len(metrics.trained_domains)
    line = {
        "domain": t,
        "accuracies": metrics.row(t).tolist(),
        **metrics.result(),
        "seconds": seconds,
        "steps": strategy.clock.train_iterations,
    }
    if trajectory := _of_plugins(strategy, "trajectory"):
        alpha, beta, gamma = trajectory[-1].T.tolist()
        line |= {"alpha": alpha, "beta": beta, "gamma": gamma}
    if bounds := _of_plugins(strategy, "bounds"):
        line["bound"] = bounds[-1]
    return line


def _of_plugins(strategy: SupervisedTemplate, kept: str) -> list[Any]:
    """What the plugin that has it keeps of each domain from the second on."""
    found = (getattr(plugin, kept, None) for plugin in strategy.plugins)
    return next(filter(None, found), [])


def _restore(metrics: DomainMetrics, log: RunLog) -> None:
    """Put the accuracies back that the state has left to ``metrics.jsonl``."""
    if metrics.rows_kept_elsewhere:
        for line in log.lines:
            metrics.restore_row(line["domain"], line["accuracies"])


def _forget_written(strategy: SupervisedTemplate) -> None:
    """Let the plugins forget what ``metrics.jsonl`` has, which grows with the square of
    the number of domains."""
    for kept in ("trajectory", "bounds"):
        _of_plugins(strategy, kept).clear()


def _draw(
    folder: Path, metrics: DomainMetrics, lines: Sequence[Mapping[str, Any]]
) -> None:
    figures = {
        "accuracy_matrix": plot_accuracy_matrix(metrics.matrix),
        "accuracy_per_domain": plot_accuracy_per_domain(metrics.matrix),
    }
    names = ("alpha", "beta", "gamma")
    omegas = [
        np.array([line[name] for name in names]).T for line in lines if "alpha" in line
    ]
    if omegas:
        figures["coefficients"] = plot_coefficients(omegas)
    bounds = [line["bound"] for line in lines if "bound" in line]
    # A run that an earlier version began has no bounds of its first domains.
    if bounds and len(bounds) == len(omegas):
        betas = [omega[:, 1] for omega in omegas]
        figures["divergence_and_beta"] = plot_divergence_and_beta(bounds, betas)
        figures["bound"] = plot_bound(bounds, metrics.matrix)
    for name, figure in figures.items():
        save_figure(figure, folder / f"{name}.png")


def _write_model(folder: RunFolder, model: nn.Module) -> None:
    with atomic_write(folder.path / "model.safetensors") as unfinished:
        unfinished.write_bytes(save(model.state_dict()))


def _write_embeddings(
    folder: RunFolder, model: nn.Module, benchmark: DomainScenario, device: str
) -> None:
    encoder = getattr(model, "encoder", None)
    if encoder is not None:
        embeddings = projected_embeddings(encoder, benchmark, device)
        folder.write_json("embeddings.json", embeddings)


def _result(
    settings: RunSettings,
    benchmark: DomainScenario,
    metrics: DomainMetrics,
    log: RunLog,
    strategy: SupervisedTemplate,
) -> RunResult:
    figures = metrics.result()
    return {
        "benchmark": settings.benchmark,
        "strategy": settings.strategy,
        "memory": settings.memory,
        "joint": METHODS[settings.strategy].is_joint,
        "seed": settings.seed,
        "data": benchmark.data,
        "avg_acc": figures["avg_acc"],
        "avg_of_avg_acc": figures["avg_of_avg_acc"],
        "forgetting": figures["forgetting"],
        "forward_transfer": figures["forward_transfer"],
        "seconds": log.seconds,
        "seconds_saving": log.seconds_saving,
        "steps": strategy.clock.train_iterations,
        "peak_memory_mb": _peak_memory_mb(),
        "accuracy_matrix": metrics.matrix.tolist(),
        "random_accuracy": metrics.initial.tolist(),
        "settings": as_dict(settings),
        "versions": versions(),
    }


def _peak_memory_mb() -> float | None:
    """The most memory that the process has had so far, in MiB."""
    try:
        import resource
    except ImportError:
        return None  # Windows does not have it.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bytes_of_unit = 1 if sys.platform == "darwin" else 1024
    return peak * bytes_of_unit / 2**20
