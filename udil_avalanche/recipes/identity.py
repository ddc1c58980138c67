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
    as_dict,
    names_with,
    oldest_name,
    value_before,
)

_NAMES = """
    C alpha anneal batch_size benchmark beta c class_balanced_memory clip_norm
    coefficients cross_domain_threshold data dimensions domain_power domains epochs
    eval_batch_size ewc_lambda fisher_samples flip gamma hidden hidden_discriminator
    image_size lambda_d lambda_p lambda_s loss_alpha loss_margin lr lr_coefficients
    lr_discriminator margin memory memory_batch momentum network normalisation
    objects optimizer order per_image_angles plastic_alpha plastic_freq reg_weight
    reservoir reset_optimizer seed sigma skip_bad stable_alpha stable_freq
    std_margin strategy stratified temperature test_all_domains test_per_domain
    test_share train_per_domain validation warmup weight_decay weights xi
"""

SETTINGS_OF_0_1 = frozenset(_NAMES.split())
"""Always part of the identity: version 0.1 hashed all of its settings, whatever their
values."""


def effective_settings(settings: RunSettings) -> dict[str, Any]:
    """The settings that affect the result, by name.

    :param settings: the settings of a run.
    """
    places = names_with(Role.PLACE, type(settings))
    values = as_dict(settings).items()
    return {key: value for key, value in values if key not in places}


def identity(settings: RunSettings) -> dict[str, Any]:
    """What tells a run from others, by the first names of its settings.

    :param settings: the settings of a run.
    """
    found = {}
    for key, value in effective_settings(settings).items():
        field = type(settings).model_fields[key]
        name = oldest_name(key, field)
        if name in SETTINGS_OF_0_1 or value != value_before(field):
            found[name] = value
    return found


def fingerprint(settings: RunSettings) -> str:
    """Eight hexadecimal digits of a run's identity.

    :param settings: the settings of a run.
    """
    text = json.dumps(identity(settings), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
