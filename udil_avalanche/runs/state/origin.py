"""Whether a state belongs to a run: its settings and its data."""

import json
import logging
from pathlib import Path
from typing import Any

from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.errors import RunError, SettingsError
from udil_avalanche.recipes import RunSettings
from udil_avalanche.recipes.identity import differences, effective_settings
from udil_avalanche.recipes.resolve import stored_settings
from udil_avalanche.runs.run_folder import RunFolder, plain

logger = logging.getLogger(__name__)


def origin_of(settings: RunSettings, benchmark: DomainScenario) -> dict[str, Any]:
    """What a state belongs to, in plain values to save with it.

    :param settings: the settings of the run.
    :param benchmark: what it learns.
    """
    return {
        "settings": effective_settings(settings),
        "data": benchmark.fingerprint,
    }


def check_origin(
    state: dict[str, Any],
    settings: RunSettings,
    benchmark: DomainScenario,
    folder: RunFolder,
) -> None:
    """Refuse a state of another run: of other settings, or on other data.

    Earlier versions did not save where a state comes from. Such a state is refused if
    it has learned more domains than there are, or measured something else than the
    folder's ``metrics.jsonl`` says. Otherwise it is used, with a warning.

    :param state: what was saved.
    :param settings: the settings of the run that is to resume.
    :param benchmark: what that run learns.
    :param folder: its folder.
    :raises RunError: with the settings that differ.
    """
    origin = state.get("origin")
    if origin is None:
        problem = _contradiction(state, benchmark, folder.metrics)
        if problem is None:
            logger.warning(
                "the state in %s is of an earlier version, which did not save its "
                "settings: whether they are the same is not known",
                folder.state,
            )
    else:
        problem = _difference(origin, settings, benchmark)
    if problem is not None:
        raise RunError(
            f"the state in {folder.state} belongs to another run: {problem}\n"
            f"Put the right one back, or remove {folder.path} to start again"
        )


def _difference(
    origin: dict[str, Any], settings: RunSettings, benchmark: DomainScenario
) -> str | None:
    try:
        found = differences(stored_settings(origin["settings"]), settings)
    except SettingsError as error:
        return str(error)
    except (AttributeError, KeyError, TypeError, ValueError):
        return "it does not say which"
    if found:
        return "; ".join(found)
    if origin.get("data") != benchmark.fingerprint:
        return "the data have changed since it was saved"
    return None


def _contradiction(
    state: dict[str, Any], benchmark: DomainScenario, metrics: Path
) -> str | None:
    """What a state without an origin and the run surely do not agree on."""
    record = state.get("record")
    saved = record.get("lines", []) if isinstance(record, dict) else []
    n_domains = len(benchmark.train_stream)
    if len(saved) > n_domains:
        return f"it has learned {len(saved)} domains, not {n_domains}"
    try:
        written = [json.loads(line) for line in metrics.read_text().splitlines()]
    except (OSError, ValueError):
        return None
    for one, other in zip(saved, written, strict=False):
        if plain(one.get("accuracies")) != other.get("accuracies"):
            where = f"after domain {one.get('domain')}"
            return f"its accuracies {where} are not those of {metrics}"
    return None
