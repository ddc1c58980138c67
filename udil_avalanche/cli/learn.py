"""Make a model: learn the first domain or domains.

Domains that come later are learned by ``update``.
"""

import argparse

from udil_avalanche.cli.model_tables import print_json, show_update
from udil_avalanche.cli.parser import path_argument, refuse_contradictions
from udil_avalanche.errors import SettingsError
from udil_avalanche.formatting import settings_in_words
from udil_avalanche.learner.options import ModelOptions, split_options
from udil_avalanche.recipes import METHODS

OPTIONS = ("memory", "seed", "epochs", "device")
"""The settings with an option of their own; the others are given as key=value."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.usage = "%(prog)s MODEL --data DATA [options] [key=value ...]"
    own = ", ".join(ModelOptions.model_fields)
    parser.epilog = (
        f"key=value sets {own}, or any setting of the strategy: --list --strategy NAME "
        "--benchmark arrays (or folders) shows them."
    )
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        type=path_argument,
        help="folder for the model, which is made",
    )
    add("--data", metavar="DATA", type=path_argument, required=True, help=DATA)
    add("--strategy", metavar="NAME", default="UDIL", help=" | ".join(METHODS))
    add("--name", metavar="NAME", help="what to call the domain, if it is one")
    add("--order", metavar="NAMES", help="domains to learn, separated by commas")
    for key in OPTIONS:
        add(f"--{key}", metavar="VALUE", help=f"the setting {key}")
    add("--json", action="store_true", help="print the versions as lines of JSON")
    parser.set_defaults(takes_settings=True)


DATA = (
    "one domain, DATA/<class>/<image> or a .npz file with x and y, or a folder with "
    "several"
)


def execute(given: argparse.Namespace) -> int:
    """Learn.

    :param given: the options, and settings as key=value.
    :return: the exit code.
    """
    refuse_contradictions(given, OPTIONS)
    options, others = split_options(given.settings)
    if options.grow:
        raise SettingsError("grow=true is for update: give all classes by classes=")
    settings = {key: getattr(given, key) for key in OPTIONS}
    settings = {key: value for key, value in settings.items() if value is not None}
    settings |= others

    from udil_avalanche.learner.learner import DomainLearner
    from udil_avalanche.learner.model_folder import ModelFolder

    classes = None if options.classes is None else options.classes.split(",")
    learner = (
        DomainLearner.load(given.model, say=print, **settings)
        if ModelFolder(given.model).exists
        else DomainLearner(
            given.strategy,
            path=given.model,
            reserve=options.reserve,
            classes=classes,
            say=_quiet if given.json else print,
            **settings,
        )
    )
    learned = 0
    for record in learner.learn(given.data, name=given.name, order=given.order):
        learned += 1
        if given.json:
            print_json(record.as_dict())
        else:
            show_update(record, given.model)
    if not learned and not given.json:
        words = settings_in_words({"version": learner.folder.current})
        print(f"{given.model} has learned these data already ({words}).")
    return 0


def _quiet(message: str) -> None:
    """Say nothing: the standard output is for JSON."""
