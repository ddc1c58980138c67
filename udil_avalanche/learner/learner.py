"""A classifier that learns one domain after another."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from udil_avalanche.benchmarks.features import FrozenFeatures
from udil_avalanche.benchmarks.reading.assemble import DomainSamples
from udil_avalanche.benchmarks.reading.bad_data import BadData
from udil_avalanche.errors import ModelError, SettingsError
from udil_avalanche.learner.fixed_settings import fixed_settings
from udil_avalanche.learner.frozen import features_by
from udil_avalanche.learner.given_data import (
    Data,
    has_labels,
    kind_of_data,
    labelled_domains,
    labels_of,
    unlabelled_inputs,
)
from udil_avalanche.learner.inspection import Inspection, inspect
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.predictor import Predictor
from udil_avalanche.learner.reading import class_names, new_domain
from udil_avalanche.learner.update import Say, update
from udil_avalanche.learner.version import VersionRecord
from udil_avalanche.models.backbones import Backbone
from udil_avalanche.recipes import RunSettings
from udil_avalanche.recipes.resolve import resolve

if TYPE_CHECKING:
    from udil_avalanche.learner.exporting import Exported


class DomainLearner:
    """A classifier that lives on when the next domain arrives::

        learner = DomainLearner(strategy="UDIL", memory=400)
        learner.update(x_2022, y_2022, name="2022")
        learner.update(x_2023, y_2023, name="2023")
        learner.predict(x)

    Every update makes a version, in a folder (see
    :class:`~udil_avalanche.learner.model_folder.ModelFolder`). Domains that are learned
    one by one give the weights of one run over all of them, bit for bit.

    :param strategy: how to learn, e.g. ``"UDIL"``.
    :param path: the folder of a new model. Without it the model lives in a temporary
        folder until it is saved.
    :param reserve: samples of each domain that are held out, at most a fifth of it, to
        test later versions on.
    :param classes: the names of all classes, if the first domain does not have them
        all.
    :param say: is told what happens.
    :param settings: settings of the training, such as ``memory=400`` or ``epochs=5``;
        ``udil-run --list --strategy UDIL --benchmark arrays`` shows them.
    """

    def __init__(
        self,
        strategy: str = "UDIL",
        *,
        path: str | Path | None = None,
        reserve: int = 200,
        classes: Sequence[object] | None = None,
        say: Say = lambda message: None,
        **settings: Any,
    ) -> None:
        self._temporary = None
        if path is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="udil_model_")
            path = self._temporary.name
        self.folder = ModelFolder(path)
        if self.folder.exists:
            raise ModelError(
                f"{path} holds a model: use DomainLearner.load to continue it"
            )
        self.strategy = strategy
        self.reserve = reserve
        self._declared = None if classes is None else [str(each) for each in classes]
        self._given = settings
        self._say = say
        self._predictor: Predictor | None = None
        self._kept_features: FrozenFeatures | None = None
        if reserve < 0:
            raise SettingsError(f"reserve={reserve}: must be at least 0")

    @classmethod
    def load(
        cls, path: str | Path, say: Say = lambda message: None, **places: Any
    ) -> "DomainLearner":
        """Continue a model, in its folder.

        :param path: the model's folder.
        :param say: is told what happens.
        :param places: settings of where it runs: ``device``, ``threads``, ``workers``.
        :raises ModelError: if there is no model.
        """
        folder = ModelFolder(path)
        record = folder.record()
        learner = cls.__new__(cls)
        learner._temporary = None
        learner.folder = folder
        learner.strategy = record.settings["strategy"]
        learner.reserve = record.reserve
        learner._declared = None
        learner._given = places
        learner._say = say
        learner._predictor = None
        learner._kept_features = None
        return learner

    def learn(
        self, data: Data, *, name: str | None = None, order: str | None = None
    ) -> Iterator[VersionRecord]:
        """Learn the first domain or domains, one version each. Domains that an
        interrupted attempt has learned are not learned again.

        :param data: a path.
        :param name: the domain's name, if it is one; that of the file or folder by
            default.
        :param order: names of the domains, separated by commas; all in natural order if
            ``None``.
        :raises ModelError: if the model has learned something else.
        """
        samples = self._read(data, None, name, order)
        done = self._chain()
        for position, each in enumerate(samples):
            domain = new_domain(each, self._classes(samples), **self._division(data))
            if position < len(done):
                if (done[position].domain, done[position].data) != (
                    domain.name,
                    domain.digest,
                ):
                    raise ModelError(
                        f"{self.folder.path} holds a model that has learned "
                        f"{done[position].domain}: add domains by udil-run update"
                    )
                continue
            yield self._update(data, each, samples)

    def update(
        self,
        data: Data,
        labels: Any = None,
        *,
        name: str | None = None,
        max_drop: float | None = None,
        grow: bool = False,
        restart: bool = False,
    ) -> VersionRecord:
        """Learn a domain, the first one or a further one. A root with several is
        learned in their natural order, up to one that the gate sets aside.

        :param data: a path, inputs, or a dataset.
        :param labels: the class of each input, if they are not part of the data.
        :param name: the domain's name; that of the file or folder by default. A name
            that the model has already refreshes that domain's share of memory and
            reserve.
        :param max_drop: points that an old domain may lose, beyond chance, for the new
            version to be used.
        :param grow: add outputs for classes that the model does not know.
        :param restart: drop an update that was interrupted.
        :return: the record of the new version, the last one of several.
        """
        *_, record = self.updates(
            data,
            labels,
            name=name,
            max_drop=max_drop,
            grow=grow,
            restart=restart,
        )
        return record

    def updates(
        self,
        data: Data,
        labels: Any = None,
        *,
        name: str | None = None,
        max_drop: float | None = None,
        grow: bool = False,
        restart: bool = False,
    ) -> Iterator[VersionRecord]:
        """Learn the domains in the data one by one, and yield the record of each
        version as it is made. The parameters are those of :meth:`update`.
        """
        samples = self._read(data, labels, name)
        for each in samples:
            record = self._update(
                data, each, samples, max_drop=max_drop, grow=grow, restart=restart
            )
            yield record
            if record.aside is not None:
                return

    def predict(self, inputs: Data) -> NDArray[Any]:
        """The class of each input: its name, or its number if all names are numbers.

        :param inputs: one per row, or a path.
        """
        best = self.predict_proba(inputs).argmax(axis=1)
        chosen: NDArray[Any] = self.classes_[best]
        return chosen

    def predict_proba(self, inputs: Data) -> NDArray[np.float32]:
        """The probability of each class, in the order of :attr:`classes_`.

        :param inputs: one per row, or a path.
        """
        x = self._unlabelled(inputs)
        found = self.predictor.probabilities(self.predictor.inputs(x)).numpy()
        probabilities: NDArray[np.float32] = found
        return probabilities

    def score(self, data: Data, labels: Any = None) -> float:
        """The accuracy on labelled samples, between 0 and 1.

        :param data: inputs, a dataset, or a path.
        :param labels: the class of each input, if they are not part of the data.
        """
        x, y = labels_of(self._read(data, labels), self.record.classes)
        right = self.predictor.logits(self.predictor.inputs(x)).argmax(dim=1) == y
        return right.float().mean().item()

    def inspect(self, data: Data, labels: Any = None) -> Inspection:
        """What new samples are to the model, before any training.

        :param data: inputs, a dataset, or a path.
        :param labels: the class of each input, if they are known.
        """
        version = self.folder.version()
        if not has_labels(data, labels):
            x = self._unlabelled(data)
            return inspect(version, self.predictor.inputs(x))
        x, y = labels_of(self._read(data, labels), self.record.classes)
        return inspect(version, self.predictor.inputs(x), y)

    def save(self, path: str | Path) -> None:
        """Copy the model, with all its versions, to a folder.

        :param path: the folder, which must not exist yet.
        """
        if Path(path).exists():
            raise ModelError(f"{path} exists: choose another folder")
        self.folder.require()
        shutil.copytree(self.folder.path, path, ignore=shutil.ignore_patterns(".lock"))

    def export(self, file: str | Path) -> "Exported":
        """Write the version in use to a file that runs without this package, compare it
        with the model, and write a model card beside it.

        :param file: the file, ``.onnx`` or ``.pt2``.
        """
        from udil_avalanche.learner.exporting import export

        return export(self.folder, file)

    @property
    def record(self) -> VersionRecord:
        """The version in use."""
        return self.folder.record()

    @property
    def history(self) -> list[VersionRecord]:
        """All versions, the oldest first."""
        return self.folder.records()

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the probabilities."""
        names = self.record.classes
        numbers = [int(name) for name in names if name.lstrip("-").isdecimal()]
        if [str(number) for number in numbers] == names:
            return np.array(numbers)
        return np.array(names)

    @property
    def predictor(self) -> Predictor:
        """The model of the version in use, ready to predict."""
        number = self.folder.current
        if self._predictor is None or self._predictor.record.number != number:
            self._predictor = Predictor.load(self.folder.path, number)
        return self._predictor

    def _update(
        self,
        data: Data,
        samples: DomainSamples,
        together: Sequence[DomainSamples],
        *,
        max_drop: float | None = None,
        grow: bool = False,
        restart: bool = False,
    ) -> VersionRecord:
        classes = self._classes(together)
        if self.folder.exists and grow:
            classes += [c for c in class_names([samples]) if c not in classes]
        return update(
            self.folder,
            new_domain(samples, classes, **self._division(data)),
            self._settings(data),
            classes,
            reserve=self.reserve,
            max_drop=max_drop,
            restart=restart,
            say=self._say,
        )

    def _classes(self, together: Sequence[DomainSamples]) -> list[str]:
        if self.folder.exists:
            return list(self.record.classes)
        found = class_names(together)
        classes = self._declared or found
        unknown = [name for name in found if name not in classes]
        if unknown:
            raise BadData(
                f"the data have the class {' and '.join(unknown)}, which is not among "
                f"the declared ones: {', '.join(classes)}"
            )
        if len(classes) < 2:
            raise BadData(
                "at least two classes are needed, but the data have "
                f"{' and '.join(classes) or 'none'}: declare all by classes=NAME,NAME"
            )
        return classes

    def _chain(self) -> list[VersionRecord]:
        """The versions that led to the one in use, the oldest first."""
        if not self.folder.exists:
            return []
        chain = [self.record]
        while chain[0].parent is not None:
            chain.insert(0, self.folder.record(chain[0].parent))
        return chain

    def _division(self, data: Data) -> dict[str, Any]:
        settings: Any = self._settings(data)
        features = self._features(settings)
        return {
            "backbone": None if features is None else features.backbone,
            "reserve": self.reserve,
            "share": settings.test_share,
            "stratified": settings.stratified,
            "seed": settings.seed,
        }

    def _settings(self, data: Data) -> RunSettings:
        """The settings of the training; only where it runs can change later."""
        kind = kind_of_data(data)
        if not self.folder.exists:
            return resolve(self.strategy, kind, options=self._given)
        return fixed_settings(self.record.settings, self._given, kind)

    def _read(
        self,
        data: Data,
        labels: Any,
        name: str | None = None,
        order: str | None = None,
    ) -> list[DomainSamples]:
        """The labelled samples of each domain in the data."""
        count = len(self.record.domains) if self.folder.exists else 0
        return labelled_domains(
            data,
            labels,
            settings=self._settings(data),
            name=name,
            unnamed=f"domain {count + 1}",
            order=order,
            features=self._features(self._settings(data)),
        )

    def _unlabelled(self, data: Data) -> Tensor:
        settings = self._settings(data)
        return unlabelled_inputs(data, settings, self._features(settings))

    def _features(self, settings: RunSettings) -> FrozenFeatures | None:
        """What makes features of images, if the model learns from them."""
        if self._kept_features is None:
            self._kept_features = features_by(settings, self._backbone)
        return self._kept_features

    def _backbone(self) -> Backbone | None:
        return self.predictor.backbone if self.folder.exists else None
