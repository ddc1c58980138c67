"""How good a version of a model is on labelled samples: in all, class by class, and
whether it is as sure as it is right."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor

from udil_avalanche.benchmarks.reading.assemble import DomainSamples
from udil_avalanche.data.domain_tensors import DomainTensors, LastUsed, domain_of
from udil_avalanche.data.image_files import ImageFiles
from udil_avalanche.data.natural_order import natural
from udil_avalanche.data.scenario import Domain
from udil_avalanche.errors import ModelError
from udil_avalanche.learner.calibration import (
    ReliabilityBin,
    class_accuracies,
    confusion_matrix,
    expected_calibration_error,
    reliability_bins,
)
from udil_avalanche.learner.frozen import features_by
from udil_avalanche.learner.given_data import reading_settings
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.predictor import BATCH_SIZE, Predictor
from udil_avalanche.learner.reading import kind_of, new_domain, read_samples
from udil_avalanche.learner.wilson import Share, share_of
from udil_avalanche.recipes.resolve import stored_settings

ALL, TEST, RESERVE, TRAINED = "all samples", "test samples", "reserve", "trained on"
"""Which samples of a domain are tested on. ``RESERVE``: the model has learned the
others. ``TRAINED``: it has learned all of them, and the accuracy is too high."""


@dataclass(frozen=True)
class Evaluation:
    """What a model makes of labelled samples.

    :param name: the domain.
    :param part: which of its samples.
    :param probabilities: of each class, one row per sample.
    :param labels: the true classes.
    :param class_names: the names of the model's classes.
    """

    name: str
    part: str
    probabilities: Tensor
    labels: Tensor
    class_names: list[str]

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.labels)

    @cached_property
    def confusion(self) -> Tensor:
        """How many samples of each class, a row, were taken for each, a column."""
        return confusion_matrix(
            predicted=self.probabilities.argmax(dim=1),
            labels=self.labels,
            n_classes=len(self.class_names),
        )

    @property
    def accuracy(self) -> Share:
        """The accuracy on all samples, with its interval."""
        return share_of(int(self.confusion.diagonal().sum()), self.n)

    @property
    def of_classes(self) -> dict[str, Share]:
        """The accuracy on each class, with its interval."""
        shares = class_accuracies(self.confusion)
        return dict(zip(self.class_names, shares, strict=True))

    @cached_property
    def bins(self) -> list[ReliabilityBin]:
        """The samples by how sure the model is of them."""
        return reliability_bins(probabilities=self.probabilities, labels=self.labels)

    @property
    def confidence(self) -> float:
        """How sure the model is in the mean, as a share."""
        return float(self.probabilities.double().max(dim=1).values.mean())

    @property
    def calibration_error(self) -> float:
        """The expected difference of confidence and accuracy, as a share."""
        return expected_calibration_error(self.bins)

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain values; accuracies, confidences and their differences in
        percent."""
        return {
            "samples": self.n,
            "part": self.part,
            "accuracy": _in_percent(self.accuracy),
            "classes": {k: _in_percent(each) for k, each in self.of_classes.items()},
            "confusion": self.confusion.tolist(),
            "confidence": 100 * self.confidence,
            "calibration_error": 100 * self.calibration_error,
            "bins": [
                {
                    "low": 100 * each.low,
                    "high": 100 * each.high,
                    "confidence": 100 * each.confidence,
                    "accuracy": _in_percent(each.accuracy),
                }
                for each in self.bins
            ],
        }


def evaluate(
    folder: ModelFolder,
    data: Path,
    *,
    number: int | None = None,
    device: str = "cpu",
    skip_invalid: bool = False,
) -> Iterator[Evaluation]:
    """Test a version on labelled samples, domain by domain.

    Of a domain that has test samples only these are used. Of one that a version before
    has learned, unchanged, only the reserve is used: the rest was trained on.

    :param folder: the model's folder.
    :param data: one domain or a root with several, see
        :func:`~udil_avalanche.learner.reading.read_samples`.
    :param number: the version; the one in use by default.
    :param device: where to compute.
    :param skip_invalid: leave out invalid samples instead of refusing the data.
    :raises ModelError: if the data do not fit the model.
    :raises BadData: if they cannot be read.
    """
    number = folder.current if number is None else number
    predictor = Predictor.load(folder.path, number, device)
    settings: Any = stored_settings(predictor.record.settings)
    kind = kind_of(data)
    if kind != settings.benchmark:
        raise ModelError(
            f"{data} has {kind}, but the model has learned from {settings.benchmark}"
        )
    features = features_by(settings, lambda: predictor.backbone)
    domains = read_samples(
        data,
        **reading_settings(settings),
        skip_invalid=skip_invalid,
        features=features,
    )
    for samples in domains:
        _refuse_unknown_classes(samples, predictor.classes)
    learned = _digests(folder, number)
    for samples in domains:
        part, tested, labels = _part(samples, predictor, settings, learned)
        probabilities = _probabilities(predictor, tested, samples.name)
        yield Evaluation(samples.name, part, probabilities, labels, predictor.classes)


def together(evaluations: Sequence[Evaluation]) -> Evaluation:
    """The samples of several domains as if they were one.

    :param evaluations: the domains.
    """
    return Evaluation(
        "all domains",
        ", ".join(dict.fromkeys(each.part for each in evaluations)),
        torch.cat([each.probabilities for each in evaluations]),
        torch.cat([each.labels for each in evaluations]),
        evaluations[0].class_names,
    )


def save_picture(evaluations: Sequence[Evaluation], path: Path) -> None:
    """Draw the evaluations of some domains below one another.

    :param evaluations: the domains.
    :param path: the file, ``.png``.
    """
    from PIL import Image

    from udil_avalanche.evaluation.plots import figure_to_image
    from udil_avalanche.files import atomic_write
    from udil_avalanche.learner.evaluation_picture import plot_evaluation

    pictures = []
    for each in evaluations:
        title = f"{each.name}: {each.n} samples ({each.part})"
        fig = plot_evaluation(
            confusion=each.confusion,
            bins=each.bins,
            class_names=each.class_names,
            title=title.replace("$", r"\$"),
        )
        pictures.append(figure_to_image(fig))
    width = max(picture.width for picture in pictures)
    height = sum(picture.height for picture in pictures)
    whole = Image.new("RGB", (width, height), "white")
    top = 0
    for picture in pictures:
        whole.paste(picture, (0, top))
        top += picture.height
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as unfinished:
        whole.save(unfinished, format="png")


def _in_percent(share: Share) -> dict[str, float]:
    values = asdict(share)
    return {key: v if key == "n" else 100 * v for key, v in values.items()}


def _refuse_unknown_classes(samples: DomainSamples, classes: Sequence[str]) -> None:
    found = {str(each) for each in samples.classes[samples.usable].tolist()}
    unknown = natural(found - set(classes))
    if unknown:
        raise ModelError(
            f"{samples.name}: the model does not know the class "
            f"{' and '.join(unknown)}; it knows {', '.join(classes)}"
        )


def _digests(folder: ModelFolder, number: int) -> set[str]:
    """Those of all data that a version has learned from."""
    found = set()
    parent: int | None = number
    while parent is not None:
        record = folder.record(parent)
        found.add(record.data)
        parent = record.parent
    return found


def _part(
    samples: DomainSamples, predictor: Predictor, settings: Any, learned: set[str]
) -> tuple[str, Domain, Tensor]:
    """Which samples to test on: their name, they themselves and their labels."""
    record = predictor.record
    part, chosen = ALL, samples.usable
    if samples.n_test is not None:
        part, chosen = TEST, samples.usable & samples.is_test
    positions = torch.from_numpy(np.flatnonzero(chosen))
    if len(positions) == 0:
        raise ModelError(f"{samples.name} has no samples to test on")
    if part == ALL and len(positions) > 1:
        known = new_domain(
            samples,
            record.classes,
            reserve=record.reserve,
            share=settings.test_share,
            stratified=settings.stratified,
            seed=settings.seed,
            backbone=predictor.backbone,
        )
        if known.digest in learned:
            part = TRAINED
            if len(known.reserve):
                held_out = known.reserve
                return (
                    RESERVE,
                    domain_of(held_out.inputs, held_out.labels),
                    held_out.labels,
                )
    names = [str(each) for each in samples.classes[chosen].tolist()]
    labels = torch.tensor([record.classes.index(name) for name in names])
    return part, samples.take(positions, labels, LastUsed()), labels


def _probabilities(predictor: Predictor, domain: Domain, name: str) -> Tensor:
    """The probabilities of all samples, decoded batch by batch."""
    console = Console(stderr=True, force_terminal=sys.stderr.isatty())
    batches = torch.split(torch.arange(len(domain)), BATCH_SIZE)
    shown = track(
        batches,
        description=f"testing on {name}",
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
    found = [
        predictor.probabilities(predictor.inputs(_stored(domain, batch), name))
        for batch in shown
    ]
    return torch.cat(found)


def _stored(domain: Domain, positions: Tensor) -> Tensor:
    """Some inputs as they are stored: 8-bit ones as such."""
    if isinstance(domain, DomainTensors):
        return domain.some_inputs(positions)
    assert isinstance(domain, ImageFiles)
    return domain.batch(positions)[0]
