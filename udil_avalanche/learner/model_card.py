"""The model card of an exported version: what it is, and what it is not."""

import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from udil_avalanche.formatting import (
    markdown_code,
    markdown_text,
    percent,
    settings_in_words,
)
from udil_avalanche.learner.export_target import CARD_TITLE
from udil_avalanche.learner.graph_metadata import (
    accuracies,
    input_meaning,
    takes_images,
)
from udil_avalanche.learner.version import VersionRecord
from udil_avalanche.recipes.resolve import stored_settings
from udil_avalanche.recipes.settings import Role, as_dict, names_with


@dataclass(frozen=True)
class Check:
    """How an exported file was compared with the version in it.

    :param n: number of inputs that both classified.
    :param n_different: for how many of them the class differs.
    :param largest_difference: between two logits.
    :param accuracies: of the file on the reserve of each domain, in percent. Without
        any, the inputs were random.
    :param is_close: whether rounding explains the difference.
    :param of_classifier: how the classifier alone was compared, on the features in
        reserve, if the file has a frozen backbone. Their images were not kept.
    """

    n: int
    n_different: int
    largest_difference: float
    accuracies: dict[str, float] = field(default_factory=dict)
    is_close: bool = True
    of_classifier: "Check | None" = None

    @property
    def on_reserve(self) -> dict[str, float]:
        """The accuracy on the reserve of each domain, in percent."""
        return (self.of_classifier or self).accuracies

    @property
    def in_words(self) -> str:
        """The result in a sentence."""
        inputs = "samples in reserve" if self.accuracies else "random inputs"
        words = (
            f"the same class for all {self.n} {inputs}, largest difference of a logit "
            f"{self.largest_difference:.2g}"
        )
        if self.of_classifier is None:
            return words
        return f"{words}; the classifier alone: {self.of_classifier.in_words}"


def model_card(
    name: str, file: Path, versions: list[VersionRecord], check: Check
) -> str:
    """The card, as Markdown.

    :param name: the model's name.
    :param file: the exported file.
    :param versions: the version and those that it came from, the oldest first.
    :param check: how the file was compared with the version.
    """
    version = versions[-1]
    strategy = version.settings["strategy"]
    parts = [
        f"{CARD_TITLE}{markdown_text(name)}, version {version.number}",
        f"{markdown_code(file.name)} is a classifier of {len(version.classes)} "
        f"classes. It has learned {len(version.domains)} domains one after another, "
        f"by {strategy} of udil_avalanche "
        f"{version.software.get('udil_avalanche', '')}; the last one, "
        f"{markdown_text(version.domain)}, on {version.created[:10]}.",
        "## Input and output",
        _table(
            ["name", "type", "shape", "meaning"],
            [
                _input_row(version),
                ["`logits`", "float32", f"N x {len(version.classes)}", "one per class"],
                [
                    "`probabilities`",
                    "float32",
                    f"N x {len(version.classes)}",
                    "their softmax",
                ],
            ],
        ),
        "N is any number. The classes, in the order of the outputs: "
        f"{_listed(version.classes)}. The file's metadata have them as `classes`, "
        "and the history below as `history`, both in JSON.",
        _example(file, version),
        *_backbone(version),
        "## Domains",
        "Accuracy is that of this file, on samples that were never trained on."
        + (
            " They are in reserve as features of the network, so it is that of the "
            "classifier on these."
            if check.of_classifier
            else ""
        ),
        _table(
            ["domain", "samples", "learned in version", "accuracy", "tested on"],
            [
                [
                    markdown_text(domain.name),
                    domain.samples,
                    domain.version,
                    percent(check.on_reserve.get(domain.name)),
                    domain.reserve if domain.name in check.on_reserve else "nothing",
                ]
                for domain in version.domains
            ],
        ),
        "## History",
        "The accuracy on every domain's reserve, as measured when the version was "
        "made.",
        _history(versions),
        "## How it was trained",
        f"{version.steps} steps in all; {version.seconds:.0f} s for the last domain. "
        "Its settings:",
        _settings(version),
        "## The file was run",
        f"By {'onnxruntime' if file.suffix == '.onnx' else 'torch'}, and compared with "
        f"the model that it was exported from: {check.in_words}.",
        "## Limits",
        "\n".join(f"- {limit}" for limit in _limits(version, check)),
    ]
    return "\n\n".join(parts) + "\n"


def _input_row(version: VersionRecord) -> list[str]:
    shape = " x ".join(["N", *map(str, version.input_shape)])
    return ["`x`", version.input_type, shape, input_meaning(version)]


def _example(file: Path, version: VersionRecord) -> str:
    if file.suffix == ".onnx":
        lines = [
            "import onnxruntime",
            "",
            f'session = onnxruntime.InferenceSession("{file.name}")',
            'logits, probabilities = session.run(None, {"x": x})',
        ]
    else:
        lines = [
            "import torch",
            "",
            f'model = torch.export.load("{file.name}").module()',
            "logits, probabilities = model(torch.from_numpy(x))",
        ]
    if takes_images(version):
        size = version.input_shape[-1]
        lines = [
            "import numpy as np",
            lines[0],
            "from PIL import Image, ImageOps",
            "",
            'image = Image.open("FILE")',
            f'image.draft("RGB", ({2 * size}, {2 * size}))',
            'image = ImageOps.exif_transpose(image).convert("RGB")',
            f"image = image.resize(({size}, {size}), Image.Resampling.BILINEAR)",
            "x = np.array(image).transpose(2, 0, 1)[None]",
            *lines[2:],
        ]
    return "```python\n" + "\n".join(lines) + "\n```"


def _backbone(version: VersionRecord) -> list[str]:
    if version.features is None:
        return []
    return [
        f"The network {version.settings['network']}, which others have trained, makes "
        f"{version.features} features of an image. It is in the file and did not "
        "learn; the classifier behind it did."
    ]


def _history(versions: list[VersionRecord]) -> str:
    names = versions[-1].names
    rows = []
    for version in versions:
        measured = accuracies(version)
        rows.append(
            [
                version.number,
                version.created[:10],
                markdown_text(version.domain),
                *(percent(measured.get(name)) for name in names),
            ]
        )
    return _table(["version", "made", "learned", *map(markdown_text, names)], rows)


def _settings(version: VersionRecord) -> str:
    """What decides how the model learns, without the paths of a machine."""
    settings = stored_settings(version.settings)
    values = as_dict(settings)
    shown = {
        key: Path(value).name if key == "weights" and value else value
        for key, value in values.items()
        if key in names_with(Role.METHOD, type(settings))
    }
    return textwrap.fill(f"{settings_in_words(shown)}.", 100, break_on_hyphens=False)


def _limits(version: VersionRecord, check: Check) -> list[str]:
    limits = [
        "It knows the classes above alone, and names one of them for any input.",
        f"How it does on domains other than {_listed(version.names)} is unknown.",
        "The probabilities are a softmax. They were not calibrated.",
    ]
    unknown = [name for name in version.names if name not in check.on_reserve]
    if unknown:
        limits.append(
            f"No samples of {_listed(unknown)} are held out, so its accuracy there "
            "is unknown."
        )
    if check.on_reserve:
        fewest = min(
            each.reserve for each in version.domains if each.name in check.on_reserve
        )
        limits.append(
            f"The accuracies are estimates from {fewest} samples or more each: a 95 % "
            f"interval reaches up to {_margin(fewest)} points to either side."
        )
    if version.forgotten:
        limits.append(
            f"The samples of {_listed(version.forgotten)} were removed on request, "
            "but the weights still carry what they learned from them."
        )
    return limits


def _listed(names: list[str]) -> str:
    return ", ".join(map(markdown_text, names))


def _margin(n: int) -> str:
    """Points to each side of the widest 95 % interval of a share of n samples."""
    return f"{min(100.0, 196 * (0.25 / n) ** 0.5):.1f}"


def _table(header: list[str], rows: list[list[Any]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
