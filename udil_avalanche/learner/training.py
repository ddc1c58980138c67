"""Learning one more domain: a version in, a version out."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from avalanche.training.plugins import EvaluationPlugin
from torch import Tensor, nn

from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.errors import ModelError, SettingsError
from udil_avalanche.learner.architecture import from_scratch
from udil_avalanche.learner.reading import NewDomain
from udil_avalanche.learner.version import DomainRecord, Version, VersionRecord
from udil_avalanche.models.heads import ClosedFormHead
from udil_avalanche.plugins import FiniteLossPlugin
from udil_avalanche.plugins.loaders.image_loader import lost_workers_explained
from udil_avalanche.plugins.shared.averaged_model import evaluated_model
from udil_avalanche.plugins.shared.plugin import Plugin, Strategy
from udil_avalanche.recipes import METHODS, RunSettings, as_dict
from udil_avalanche.recipes.build import build_model, build_strategy
from udil_avalanche.runs.feasible import check_machine
from udil_avalanche.runs.state.checkpoint import StateFolder
from udil_avalanche.runs.state.generators import generator_states, set_generator_states
from udil_avalanche.runs.state.run_log import RunLog
from udil_avalanche.runs.state.saving import SavingPlugin
from udil_avalanche.runs.state.stop import StopRequest
from udil_avalanche.runs.state.strategy_state import load_strategy_state, strategy_state
from udil_avalanche.runs.torch_setup import seed_all, set_up_torch, torch_as_it_was
from udil_avalanche.runs.versions import versions


@dataclass
class Resumable:
    """Where an update saves its state while it learns, to be resumed after a stop.

    :param folder: the folder for the states.
    :param stop: whether to save and stop.
    :param every: seconds between two states.
    """

    folder: Path
    stop: StopRequest
    every: float


def learn_domain(
    before: Version | None,
    domain: NewDomain,
    settings: RunSettings,
    classes: Sequence[str],
    *,
    number: int,
    reserve: int,
    resumable: Resumable | None = None,
    plugins: Sequence[Plugin] = (),
) -> Version:
    """Learn a domain.

    Versions that are learned one after another, in any number of processes, have the
    weights of one run over all domains, bit for bit. The random generators of Python,
    NumPy and torch, and torch's settings, are left as they were found.

    :param before: the version to continue; ``None`` to begin.
    :param domain: the domain; not one that ``before`` has samples of.
    :param settings: the settings of the training.
    :param classes: the names of the classes.
    :param number: the number of the new version.
    :param reserve: the most samples of a domain that are held out.
    :param resumable: where to save while learning, if it is to be resumed.
    :param plugins: further plugins, such as one that shows progress.
    :return: the new version, with nothing measured yet but by the method itself.
    :raises ModelError: if the method cannot learn one domain after another.
    :raises SettingsError: if this machine cannot do it.
    """
    require_sequential(settings)
    check_machine(settings)
    if before is not None:
        _require_fitting(before.record, domain, settings)
    log = RunLog()
    with _torch_as_in_a_run(settings):
        if before is None:
            seed_all(settings.seed)
        start = settings if before is None else from_scratch(settings)
        strategy, experience = _strategy(domain, start, len(classes), plugins)
        saving = None if resumable is None else _saving(resumable, log)
        state = None if saving is None else saving.states.read()
        if state is None and before is not None:
            load_strategy_state(strategy, before.state)
            set_generator_states(before.generators)
        if saving is not None:
            strategy.plugins.append(saving)
            if state is not None:
                saving.resume(strategy, state)
        with lost_workers_explained():
            strategy.train(experience)
        log.tick()
        return Version(
            record=VersionRecord(
                number=number,
                parent=None if before is None else before.record.number,
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                domain=domain.name,
                domains=[
                    *([] if before is None else before.record.domains),
                    DomainRecord(
                        domain.name, len(domain.train), len(domain.reserve), number
                    ),
                ],
                classes=list(classes),
                **_inputs_of(domain),
                reserve=reserve,
                data=domain.digest,
                settings=as_dict(settings),
                steps=strategy.clock.train_iterations,
                seconds=log.seconds,
                measured=_measured(strategy, before),
                forgotten=[] if before is None else before.record.forgotten,
                software=versions(),
            ),
            weights=_copied(_weights_to_predict(evaluated_model(strategy))),
            state=_copied(strategy_state(strategy)),
            generators=generator_states(),
            reserves={
                **({} if before is None else before.reserves),
                **({domain.name: domain.reserve} if len(domain.reserve) else {}),
            },
            backbone=_copied(domain.backbone.state_dict() if domain.backbone else {}),
        )


def require_sequential(settings: RunSettings) -> None:
    """Refuse what cannot learn one domain after another in a model that lives on.

    :param settings: the settings of the training.
    :raises ModelError: with what to use instead.
    """
    if METHODS[settings.strategy].is_joint:
        raise ModelError(
            f"{settings.strategy} trains on all domains at once and cannot learn one "
            "more: choose another strategy, such as UDIL"
        )


def _require_fitting(
    known: VersionRecord, domain: NewDomain, settings: RunSettings
) -> None:
    """Refuse a domain of other inputs, or one that the memory has no room for."""
    n_domains = len(known.domains) + 1
    if 0 < settings.memory < n_domains:
        raise ModelError(
            f"a memory of {settings.memory} samples has no room for one of each of "
            f"{n_domains} domains: learn a new model with a larger memory"
        )
    given = _inputs_of(domain)
    wanted = f"{known.input_type} of shape {tuple(known.input_shape)}"
    found = f"{given['input_type']} of shape {tuple(given['input_shape'])}"
    if found != wanted:
        raise ModelError(
            f"the inputs of {domain.name} are {found}, but the model has learned from "
            f"{wanted}"
        )


def _inputs_of(domain: NewDomain) -> dict[str, Any]:
    """What a version's record says about its inputs."""
    if domain.backbone is not None:
        size = domain.backbone.image_size
        return {
            "input_shape": [3, size, size],
            "input_type": "uint8",
            "features": domain.backbone.width,
        }
    inputs = domain.reserve.inputs
    return {
        "input_shape": list(inputs.shape[1:]),
        "input_type": str(inputs.dtype).removeprefix("torch."),
    }


def _weights_to_predict(model: nn.Module) -> dict[str, Tensor]:
    """The weights of a model, without the sums that a classifier in closed form keeps
    to learn on."""
    sums = {
        f"{name}.{each}"
        for name, part in model.named_modules()
        if isinstance(part, ClosedFormHead)
        for each in part.SUMS
    }
    return {key: each for key, each in model.state_dict().items() if key not in sums}


@contextmanager
def _torch_as_in_a_run(settings: RunSettings) -> Iterator[None]:
    """torch set up as for a run; the caller's settings and random generators are put
    back."""
    outside = generator_states()
    with torch_as_it_was():
        if settings.threads is not None:
            torch.set_num_threads(settings.threads)
        set_up_torch()
        try:
            yield
        finally:
            set_generator_states(outside)


def _strategy(
    domain: NewDomain,
    settings: RunSettings,
    n_classes: int,
    plugins: Sequence[Plugin],
) -> tuple[Strategy, Any]:
    """A strategy with new weights, and the domain as Avalanche sees it."""
    try:
        scenario = DomainScenario(
            train=[domain.train],
            test=[domain.train],
            n_classes=n_classes,
            data=domain.name,
        )
        model = build_model(settings, scenario)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    strategy = build_strategy(
        settings,
        model,
        evaluator=_no_evaluator(),
        plugins=[*plugins, FiniteLossPlugin()],
    )
    return strategy, scenario.train_stream[0]


def _no_evaluator() -> EvaluationPlugin:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="No loggers specified")
        return EvaluationPlugin(collect_all=False)


def _saving(resumable: Resumable, log: RunLog) -> SavingPlugin:
    return SavingPlugin(
        StateFolder(resumable.folder),
        log,
        every=resumable.every,
        stop=resumable.stop,
        before_saving=lambda: None,
    )


def _measured(strategy: Strategy, before: Version | None) -> dict[str, Any]:
    """What the method has measured in this domain: Omega for each earlier domain, and
    the bound."""
    measured: dict[str, Any] = {}
    names = [] if before is None else before.record.names
    for plugin in strategy.plugins:
        trajectory = getattr(plugin, "trajectory", None)
        if trajectory and len(trajectory[-1]) == len(names):
            rows = trajectory[-1].tolist()
            measured["omega"] = dict(zip(names, rows, strict=True))
        bounds = getattr(plugin, "bounds", None)
        if bounds and len(bounds[-1]["divergence"]) == len(names):
            measured["bound"] = bounds[-1]
            measured["divergence"] = dict(
                zip(names, bounds[-1]["divergence"], strict=True)
            )
    return measured


def _copied(tree: Any) -> Any:
    """Nested dictionaries and lists with copies of their tensors, on the CPU."""
    match tree:
        case Tensor():
            return tree.detach().cpu().clone()
        case dict():
            return {key: _copied(value) for key, value in tree.items()}
        case list() | tuple():
            return [_copied(value) for value in tree]
    return tree
