"""Remove every stored sample of a domain, from all versions of a model.

The weights still carry what they learned of it.
"""

import argparse

from udil_avalanche.cli.parser import path_argument


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    add = parser.add_argument
    add("model", metavar="MODEL", type=path_argument, help="folder of the model")
    add("--domain", metavar="NAME", required=True, help="name of the domain")


def execute(given: argparse.Namespace) -> int:
    """Forget.

    :param given: the options.
    :return: the exit code.
    """
    from udil_avalanche.learner.forgetting import forget
    from udil_avalanche.learner.model_folder import ModelFolder

    folder = ModelFolder(given.model)
    versions = forget(folder, given.domain)
    print(
        f"{given.domain}: its samples were removed from memory and reserve of "
        f"version {', '.join(map(str, versions))}."
    )
    print(
        "The weights still carry what they learned of it: to be rid of that, learn a "
        "new model without it."
    )
    record = folder.record()
    if record.features is not None:
        print(
            "Features of its images may still be in the cache, which runs and other "
            f"models use, too: {record.settings['cache']}"
        )
    return 0
