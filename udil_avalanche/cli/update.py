"""Learn one more domain, and show what it does to the old ones.

Exit code 3: the update cost an old domain more than ``--max-drop`` and was set aside.
"""

import argparse

from udil_avalanche.cli.learn import DATA
from udil_avalanche.cli.model_tables import print_json, show_update
from udil_avalanche.cli.parser import path_argument
from udil_avalanche.errors import SettingsError
from udil_avalanche.learner.options import split_options

SET_ASIDE = 3
"""The exit code of an update that was set aside."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.usage = "%(prog)s MODEL --data NEW [options] [key=value ...]"
    parser.epilog = (
        "key=value sets grow=true, or where it runs: device, threads, workers, cache. "
        f"Exit code {SET_ASIDE}: the update was set aside because of --max-drop."
    )
    add = parser.add_argument
    add("model", metavar="MODEL", type=path_argument, help="folder of the model")
    add("--data", metavar="NEW", type=path_argument, required=True, help=DATA)
    add(
        "--name",
        metavar="NAME",
        help="what to call the domain; a name that the model has refreshes that domain",
    )
    add(
        "--max-drop",
        metavar="POINTS",
        type=float,
        help="set the update aside if it "
        "costs an old domain more than so many points, beyond chance",
    )
    add("--restart", action="store_true", help="drop an update that was interrupted")
    add("--json", action="store_true", help="print the new version as JSON")
    parser.set_defaults(takes_settings=True)


def execute(given: argparse.Namespace) -> int:
    """Update.

    :param given: the options, and settings as key=value.
    :return: the exit code.
    """
    options, others = split_options(given.settings)
    fixed = options.model_fields_set - {"grow"}
    if fixed:
        raise SettingsError(
            f"{', '.join(sorted(fixed))}: fixed when the model was made"
        )
    if given.max_drop is not None and not 0 <= given.max_drop <= 100:
        raise SettingsError(f"--max-drop {given.max_drop}: from 0 to 100 points")

    from udil_avalanche.learner.learner import DomainLearner

    learner = DomainLearner.load(
        given.model,
        say=(lambda message: None) if given.json else print,
        **others,
    )
    records = learner.updates(
        given.data,
        name=given.name,
        max_drop=given.max_drop,
        grow=options.grow,
        restart=given.restart,
    )
    aside = False
    for record in records:
        aside = record.aside is not None
        if given.json:
            print_json(record.as_dict())
        else:
            show_update(record, given.model)
    return SET_ASIDE if aside else 0
