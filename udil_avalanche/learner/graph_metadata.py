"""What an exported graph knows about itself. Does not load Avalanche."""

import json
from typing import Any

from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.version import VersionRecord


def lineage(folder: ModelFolder, number: int) -> list[VersionRecord]:
    """A version and those that it came from, the oldest first.

    :param folder: the model.
    :param number: the version.
    """
    versions = [folder.record(number)]
    known = set(folder.numbers)
    while (parent := versions[0].parent) in known:
        versions.insert(0, folder.record(parent))
    return versions


def metadata(versions: list[VersionRecord]) -> dict[str, str]:
    """The entries of a graph's metadata, each of them JSON: the names of the
    ``classes`` in the order of the logits; what ``input`` it takes; the ``version``;
    and its ``history``.

    No paths: the file goes to other machines.

    :param versions: the version and those that it came from, the oldest first.
    """
    version = versions[-1]
    entries: dict[str, Any] = {
        "classes": version.classes,
        "input": {
            "shape": ["batch", *version.input_shape],
            "type": version.input_type,
            "meaning": input_meaning(version),
        },
        "version": version.number,
        "history": [_entry(each) for each in versions],
        "software": {
            name: version.software[name]
            for name in ("udil_avalanche", "torch")
            if name in version.software
        },
    }
    return {
        name: json.dumps(entry, ensure_ascii=False) for name, entry in entries.items()
    }


def input_meaning(version: VersionRecord) -> str:
    """What an input is, in a sentence.

    :param version: the version.
    """
    if takes_images(version):
        size = version.input_shape[-1]
        return (
            "8-bit RGB images, channels first, stretched to "
            f"{size} x {size} pixels by bilinear interpolation"
        )
    scaled = "8-bit numbers" if version.input_type == "uint8" else "numbers"
    return f"{scaled} as they were in the data, not scaled in any way"


def takes_images(version: VersionRecord) -> bool:
    """Whether a version has learned from image files.

    :param version: the version.
    """
    return bool(version.settings["benchmark"] == "folders")


def accuracies(version: VersionRecord) -> dict[str, float | None]:
    """The accuracy on the reserve of every domain, in percent, as it was measured when
    the version was made.

    :param version: the version.
    """
    return {name: version.changes.get(name, {}).get("after") for name in version.names}


def _entry(version: VersionRecord) -> dict[str, Any]:
    [learned] = [each for each in version.domains if each.name == version.domain]
    return {
        "version": version.number,
        "parent": version.parent,
        "created": version.created,
        "domain": version.domain,
        "samples": learned.samples,
        "reserve": learned.reserve,
        "strategy": version.settings["strategy"],
        "accuracies": accuracies(version),
    }
