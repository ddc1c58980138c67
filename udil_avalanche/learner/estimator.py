"""A classifier by scikit-learn's conventions, to which domains come one by one."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from udil_avalanche.formatting import differing, settings_in_words
from udil_avalanche.learner.predictor import Predictor
from udil_avalanche.learner.reading import new_domain, samples_of_arrays
from udil_avalanche.learner.training import learn_domain
from udil_avalanche.learner.version import Version
from udil_avalanche.recipes import METHODS, Role, RunSettings, as_dict
from udil_avalanche.recipes.names import nearest, plain_name
from udil_avalanche.recipes.resolve import resolve, stored_settings
from udil_avalanche.recipes.settings import names_with

OF_FILES = (
    *("benchmark", "data", "domains", "order", "test_share", "stratified"),
    *("skip_invalid", "train_per_domain", "validation", "test_all_domains"),
    *("eval_batch_size", "output", "save_every"),
)
"""Settings of runs over files, which have no meaning for arrays in memory."""


class UDILClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learns one domain after another and keeps what it knew, by UDIL or another
    method, with a perceptron of two hidden layers.

    Every :meth:`partial_fit` is a domain, such as a season, a site or a sensor; it is
    not a mini-batch. :meth:`fit` forgets all and learns one domain. The weights are
    those of ``udil-run`` on the same arrays with the same settings and seed, bit for
    bit.

    Inputs become 32-bit floats, and each feature is standardised by the first domain
    (``settings={"standardise": False}`` to leave them as they are). Nothing is held
    out. The global random generators and torch's settings are left as they are, but for
    ``random_state=None``, which takes a seed from NumPy's, as in scikit-learn.

    :param strategy: how to learn; any method of ``udil-run`` that learns in sequence.
    :param memory: samples kept of all past domains together; strategies that keep none
        ignore it.
    :param epochs: passes over the samples of each domain.
    :param batch_size: samples of the current domain in a step.
    :param lr: learning rate; the strategy's own if ``None``.
    :param hidden: width of the hidden layers.
    :param settings: further settings of the strategy and its training by name, as
        ``udil-run --list --strategy UDIL --benchmark arrays`` shows them, such as
        ``{"device": "cuda", "weight_decay": 1e-4}``.
    :param random_state: seed of all draws.

    :ivar classes\\_: the classes.
    :ivar n_features_in\\_: number of features.
    :ivar feature_names_in\\_: their names, if the samples came with names.
    :ivar version\\_: what was learned so far, as a
        :class:`~udil_avalanche.learner.version.Version`.
    """

    classes_: NDArray[Any]
    version_: Version

    def __init__(
        self,
        strategy: str = "UDIL",
        *,
        memory: int = 400,
        epochs: int = 10,
        batch_size: int = 64,
        lr: float | None = None,
        hidden: int = 800,
        settings: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.strategy = strategy
        self.memory = memory
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.hidden = hidden
        self.settings = settings
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> "UDILClassifier":
        """Learn one domain, from the beginning.

        :param X: a row of numbers for each sample.
        :param y: the class of each sample.
        """
        inputs, labels = self._validated(X, y, first=True)
        return self._learn(inputs, labels, np.unique(labels), before=None)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None
    ) -> "UDILClassifier":
        """Learn one more domain.

        :param X: a row of numbers for each sample of the domain.
        :param y: the class of each sample; a domain need not have all classes.
        :param classes: all classes that there will ever be. Needed in the first call,
            and may be left out later.
        """
        before: Version | None = getattr(self, "version_", None)
        known = None if before is None else self.classes_
        inputs, labels = self._validated(X, y, first=before is None)
        if classes is not None:
            declared = np.unique(column_or_1d(classes))
            if known is not None and not np.array_equal(known, declared):
                raise ValueError(
                    f"classes={declared.tolist()} are not those of the first call to "
                    f"partial_fit or fit, which were {known.tolist()}"
                )
            known = declared
        if known is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return self._learn(inputs, labels, known, before)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float32]:
        """The probability of each class, a row for each sample.

        :param X: the samples.
        """
        check_is_fitted(self)
        inputs = validate_data(self, X, dtype=np.float32, reset=False)
        # A copy, because torch takes no memory that it must not write to.
        probabilities = self._predictor.probabilities(torch.tensor(inputs))
        found: NDArray[np.float32] = probabilities.numpy()
        return found

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class of each sample.

        :param X: the samples.
        """
        most_probable = self.predict_proba(X).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[most_probable]
        return predicted

    def _validated(
        self, X: ArrayLike, y: ArrayLike, first: bool
    ) -> tuple[NDArray[np.float32], NDArray[Any]]:
        inputs, labels = validate_data(self, X, y, dtype=np.float32, reset=first)
        check_classification_targets(labels)
        return inputs, labels

    def _learn(
        self,
        inputs: NDArray[np.float32],
        labels: NDArray[Any],
        classes: NDArray[Any],
        before: Version | None,
    ) -> "UDILClassifier":
        unknown = np.setdiff1d(labels, classes)
        if len(unknown):
            raise ValueError(
                f"y has the classes {unknown.tolist()}, which are not among "
                f"{classes.tolist()}: declare all classes in the first call"
            )
        if len(classes) < 2:
            raise ValueError(
                "at least 2 classes are needed, but there is 1 class: "
                f"{classes.tolist()[0]}"
            )
        settings = self._settings(before)
        number = 1 if before is None else before.record.number + 1
        names = [str(name) for name in classes.tolist()]
        samples = samples_of_arrays(
            torch.tensor(inputs), labels.tolist(), f"domain {number}"
        )
        domain = new_domain(samples, names, reserve=0)
        self.version_ = learn_domain(
            before, domain, settings, names, number=number, reserve=0
        )
        self._predictor = Predictor.of(self.version_, settings.device)
        self.classes_ = classes
        return self

    def _settings(self, before: Version | None) -> RunSettings:
        """All settings of the training; later domains have those of the first."""
        further = dict(self.settings or {})
        own = {plain_name(name) for name in self.get_params()} | {"seed"}
        for name in further:
            if plain_name(name) in own:
                raise ValueError(
                    f"settings has {name}, which is a parameter of UDILClassifier: "
                    f"give it as {'random_state' if name == 'seed' else name}=..."
                )
            if plain_name(name) in map(plain_name, OF_FILES):
                raise ValueError(f"{name} has no meaning for arrays in memory")
        strategy = nearest(str(self.strategy), METHODS, "strategy")
        options = {
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "hidden": self.hidden,
            "seed": self._seed() if before is None else before.record.settings["seed"],
            **further,
        }
        if METHODS[strategy].has_memory:
            options["memory"] = self.memory
        if self.lr is not None:
            options["lr"] = self.lr
        settings = resolve(strategy, "arrays", options=options)
        if before is not None:
            _refuse_changes(before.record.settings, as_dict(settings))
        return settings

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))


def _refuse_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    settings = stored_settings(before)
    then, place = as_dict(settings), names_with(Role.PLACE, type(settings))
    changed = [name for name in differing([then, now]) if name not in place]
    if changed:
        was = settings_in_words({name: then[name] for name in changed})
        raise ValueError(
            f"the settings cannot change between domains: they were {was}. Set them "
            "back, or begin anew by fit"
        )
