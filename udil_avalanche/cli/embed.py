"""Features of images by a trained network, as files for the benchmark arrays."""

import argparse
from typing import Any

from udil_avalanche.cli.parser import path_argument
from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes.resolve import resolve

ANY_METHOD = "Fine-tune"
"""The features do not depend on the method; its other settings are not used."""


def execute(given: argparse.Namespace) -> int:
    """Write the features.

    :param given: the options, and settings of the benchmark folders as key=value.
    :return: the exit code.
    """
    options = {"frozen": True, "data": str(given.data)}
    settings: Any = resolve(
        ANY_METHOD, "folders", options=options, overrides=given.settings
    )
    from udil_avalanche.benchmarks.embed import embed
    from udil_avalanche.recipes.benchmarks.images import frozen_features

    try:
        files = embed(
            given.data,
            given.output,
            frozen_features(settings),
            order=settings.order,
            domains=settings.domains,
            skip_invalid=settings.skip_invalid,
        )
    except ValueError as error:
        raise SettingsError(str(error)) from error
    for file in files:
        print(file)
    return 0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.set_defaults(takes_settings=True)
    parser.usage = "%(prog)s --data ROOT --output FEATURES [key=value ...]"
    parser.epilog = (
        "Settings are those of the benchmark folders with frozen=true, such as "
        "network=resnet18, weights=FILE, image_size=160 or order=2021,2022."
    )
    for option, metavar, meaning in (
        ("--data", "ROOT", "folder with the images, <domain>/<class>/<image>"),
        ("--output", "FEATURES", "folder for the features, a file for each domain"),
    ):
        parser.add_argument(
            option, metavar=metavar, type=path_argument, required=True, help=meaning
        )
