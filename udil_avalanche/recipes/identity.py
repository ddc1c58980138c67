"""Which runs are the same run.

A run's identity is what its settings say about the task and the method. A setting that
was added after version 0.1 is left out where it stands at its default, and a setting
that was renamed keeps its first name, so that earlier runs are found again.

Where the default of a new setting changes what is computed, or the default of one that
was added later is changed, earlier runs had another value without saying so:
:class:`~udil_avalanche.recipes.settings.Before` names it.
"""

import hashlib
import json
from typing import Any

from udil_avalanche.recipes.settings import (
    Role,
    RunSettings,
    all_names,
    as_dict,
    names_with,
    value_before,
)

SETTINGS_OF_0_1 = {
    "": (
        "anneal batch_size benchmark clip_norm data domains epochs "
        "eval_batch_size hidden lr memory momentum optimizer seed strategy "
        "test_all_domains train_per_domain validation weight_decay"
    ),
    "UDIL": (
        "C class_balanced_memory coefficients cross_domain_threshold domain_power "
        "hidden_discriminator lambda_d lambda_p lambda_s lr_coefficients "
        "lr_discriminator memory_batch reset_optimizer temperature"
    ),
    "oEWC": "ewc_lambda fisher_samples gamma",
    "SI": "c xi",
    "LwF": "alpha temperature",
    "GEM": "margin",
    "A-GEM": "memory_batch",
    "ER": "memory_batch reservoir",
    "DER++": "alpha beta memory_batch reservoir",
    "CLS-ER": (
        "memory_batch plastic_alpha plastic_freq reg_weight reservoir "
        "stable_alpha stable_freq"
    ),
    "ESM-ER": (
        "loss_alpha loss_margin memory_batch reg_weight reservoir stable_alpha "
        "stable_freq std_margin warmup"
    ),
    "hd_balls": "dimensions network sigma test_per_domain",
    "rotated_mnist": "per_image_angles",
    "seq_core50": (
        "flip image_size network normalisation objects skip_bad stratified "
        "test_share weights"
    ),
    "folders": (
        "flip image_size network normalisation order skip_bad stratified "
        "test_share weights"
    ),
    "arrays": "order skip_bad stratified test_share",
}
"""The settings that every run, each method and each benchmark had in version 0.1. They
are always part of the identity: that version hashed all of them, whatever their values.
"""


def effective_settings(settings: RunSettings) -> dict[str, Any]:
    """The settings that affect the result, by name.

    :param settings: the settings of a run.
    """
    places = names_with(Role.PLACE, type(settings))
    values = as_dict(settings).items()
    return {key: value for key, value in values if key not in places}


def differences(begun: RunSettings, wanted: RunSettings) -> list[str]:
    """The settings that affect the result and are not the same, in words.

    :param begun: the settings that something was made with.
    :param wanted: the settings asked for.
    """
    one, other = effective_settings(begun), effective_settings(wanted)
    return [
        f"{key}={one.get(key)}, not {key}={other.get(key)}"
        for key in sorted(one.keys() | other.keys())
        if one.get(key) != other.get(key)
    ]


def identity(settings: RunSettings) -> dict[str, Any]:
    """What tells a run from others, by the first names of its settings.

    :param settings: the settings of a run.
    """
    owners = ("", settings.strategy, settings.benchmark)
    always = {n for each in owners for n in SETTINGS_OF_0_1.get(each, "").split()}
    found = {}
    for key, value in effective_settings(settings).items():
        field = type(settings).model_fields[key]
        name = all_names(key, field)[0]
        if name in always or value != value_before(field):
            found[name] = value
    return found


def fingerprint(settings: RunSettings) -> str:
    """Eight hexadecimal digits of a run's identity.

    :param settings: the settings of a run.
    """
    text = json.dumps(identity(settings), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
