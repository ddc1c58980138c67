"""Learning one more domain in a model folder: resumable, judged, and never half done.

An update trains beside the version in use, is judged on the reserves, is written as a
new version, and only then becomes the one in use. What it needs to be resumed is in
``MODEL/update``: its plan, and the states that it saves while it trains.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from udil_avalanche.errors import ModelError
from udil_avalanche.files import write_text
from udil_avalanche.learner.domain_removal import without_domain
from udil_avalanche.learner.growth import grown
from udil_avalanche.learner.judging import judged, objection
from udil_avalanche.learner.model_folder import PLAN, ModelFolder
from udil_avalanche.learner.progress import StepProgress
from udil_avalanche.learner.reading import NewDomain
from udil_avalanche.learner.training import Resumable, learn_domain, require_sequential
from udil_avalanche.learner.version import Version, VersionRecord
from udil_avalanche.plugins import DeadTrainingPlugin
from udil_avalanche.recipes import RunSettings
from udil_avalanche.runs.state.lock import locked
from udil_avalanche.runs.state.stop import StopRequest

Say = Callable[[str], None]


def update(
    folder: ModelFolder,
    domain: NewDomain,
    settings: RunSettings,
    classes: Sequence[str],
    *,
    reserve: int,
    max_drop: float | None = None,
    restart: bool = False,
    say: Say = lambda message: None,
) -> VersionRecord:
    """Learn a domain, the first one of a new model or a further one.

    Interrupted at any moment and called again with the same data, it continues, and the
    weights are the same, bit for bit. The version in use can be used throughout.

    :param folder: the model's folder.
    :param domain: the domain. If the model has one of its name, that one is learned
        again: its samples in memory and reserve are replaced.
    :param settings: the settings of the training.
    :param classes: the names of all classes, those that the model has first.
    :param reserve: the most samples of a domain that are held out.
    :param max_drop: points that an old domain may lose, beyond chance, for the version
        to be used; ``None`` for any number.
    :param restart: drop another update that was interrupted.
    :param say: is told whether the update resumes.
    :return: the record of the new version; its ``aside`` says why it is not in use, if
        it is not.
    :raises ModelError: if it cannot be learned, or another update was interrupted.
    :raises RunLocked: if another process is updating the model.
    :raises RunStopped: after Ctrl-C or SIGTERM; the state is saved.
    """
    require_sequential(settings)
    with locked(folder.path), StopRequest() as stop:
        parent = folder.current if folder.exists else None
        if parent is not None:
            known = folder.record(parent)
            if (known.domain, known.data) == (domain.name, domain.digest):
                say(
                    f"Version {parent} has learned these data of {domain.name} already."
                )
                folder.drop_update()
                return known
        plan: dict[str, Any] = {
            "domain": domain.name,
            "data": domain.digest,
            "classes": list(classes),
            "parent": parent,
            "number": max(folder.numbers, default=0) + 1,
        }
        plan = _planned(folder, plan, restart, say)
        number: int = plan["number"]
        if number in folder.numbers:
            record = folder.record(number)
        else:
            before = None if parent is None else folder.version(parent)
            version = _learned(
                before, folder, domain, settings, classes, number, reserve, stop, say
            )
            version.record.aside = objection(
                version.record.changes, domain.name, max_drop
            )
            folder.write(version)
            record = version.record
        if record.aside is None:
            folder.make_current(number)
        folder.drop_update()
        return record


def _learned(
    before: Version | None,
    folder: ModelFolder,
    domain: NewDomain,
    settings: RunSettings,
    classes: Sequence[str],
    number: int,
    reserve: int,
    stop: StopRequest,
    say: Say,
) -> Version:
    """The new version, judged."""
    start = before
    if before is not None:
        start = grown(without_domain(before, domain.name), classes)
    progress = StepProgress(domain.name)
    with progress.bar:
        version = learn_domain(
            start,
            domain,
            settings,
            classes,
            number=number,
            reserve=reserve,
            resumable=Resumable(folder.under_way / "state", stop, settings.save_every),
            plugins=[progress, DeadTrainingPlugin(say=say)],
        )
    changes = judged(before, version, settings.device)
    return replace(version, record=replace(version.record, changes=changes))


def _planned(
    folder: ModelFolder, plan: dict[str, Any], restart: bool, say: Say
) -> dict[str, Any]:
    """The plan of the update that is to be resumed, or the new one."""
    file = folder.under_way / PLAN
    if file.exists() and not restart:
        try:
            begun = json.loads(file.read_bytes())
            same = all(begun[key] == plan[key] for key in plan if key != "number")
        except (ValueError, KeyError, TypeError):
            raise ModelError(
                f"{file} is damaged: drop the update that was interrupted by --restart"
            ) from None
        if same:
            say(f"An update with {plan['domain']} was interrupted: it goes on.")
            return dict(begun)
        raise ModelError(
            f"an update of {folder.path} with {begun['domain']} was interrupted: give "
            "the same command and data to finish it, or --restart to drop it"
        )
    folder.drop_update()
    folder.under_way.mkdir(parents=True)
    write_text(file, json.dumps(plan))
    return plan
