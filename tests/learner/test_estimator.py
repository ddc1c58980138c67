"""The scikit-learn estimator: by scikit-learn's own checks, and as people use it."""

import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from udil_avalanche import UDILClassifier, resolve, run
from udil_avalanche.errors import ModelError, SettingsError
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.runs.torch_setup import flushes_denormals

Samples = tuple[NDArray[Any], NDArray[Any]]


def small(**changed: Any) -> Any:
    given = {"hidden": 16, "epochs": 2, "memory": 30, "random_state": 0, **changed}
    return UDILClassifier(**given)


def domain(t: int, n: int = 120) -> Samples:
    """Two classes, divided by a line that turns from domain to domain."""
    rng = np.random.default_rng(t)
    x = rng.normal(size=(n, 2))
    angle = 0.5 * t
    above = x @ [np.cos(angle), np.sin(angle)] > 0
    return x, np.where(above, "above", "below")


@parametrize_with_checks([UDILClassifier()])
def test_scikit_learns_own_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_each_partial_fit_is_a_domain_with_the_weights_of_one_run(
    domains: Callable[[int], Path], tmp_path: Path
) -> None:
    root = domains(3)
    options = {"data": str(root), "output": str(tmp_path), "epochs": 2, "hidden": 16}
    settings = resolve("UDIL", "arrays", options={**options, "memory": 30, "seed": 4})
    run(settings)
    expected = load_file(RunFolder.of(settings).path / "model.safetensors")

    model = small(random_state=4)
    for t in range(3):
        with np.load(root / f"d{t}.npz") as stored:
            model.partial_fit(stored["x"], stored["y"], classes=[0, 1, 2])
    assert model.version_.record.names == ["domain 1", "domain 2", "domain 3"]
    assert model.version_.weights.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(model.version_.weights[name], tensor), name


def test_it_keeps_what_it_knew_of_earlier_domains() -> None:
    model = UDILClassifier(hidden=64, epochs=20, random_state=100)
    plain = UDILClassifier("Fine-tune", hidden=64, epochs=20, random_state=100)
    for t in range(3):
        for each in (model, plain):
            each.partial_fit(*domain(t, n=400), classes=["above", "below"])
    first = domain(0, n=1000)
    assert model.score(*first) > plain.score(*first) + 0.05


def test_fit_forgets_what_came_before() -> None:
    model = small().partial_fit(*domain(1), classes=["above", "below"])
    again = model.fit(*domain(0)).predict_proba(domain(2)[0])
    assert np.array_equal(again, small().fit(*domain(0)).predict_proba(domain(2)[0]))
    assert model.version_.record.names == ["domain 1"]


def test_labels_of_any_kind_come_back() -> None:
    x, y = domain(0)
    for labels in (y, y == "above", np.where(y == "above", 7, -3), y.astype(object)):
        model = small(epochs=30).fit(x, labels)
        assert model.classes_.tolist() == np.unique(labels).tolist()
        predicted = model.predict(x)
        assert predicted.dtype == labels.dtype
        assert (predicted == labels).mean() > 0.8
        assert model.score(x, labels) == (predicted == labels).mean()


def test_probabilities_belong_to_the_classes_in_their_order() -> None:
    x, y = domain(0)
    model = small(epochs=30).fit(x, y)
    probabilities = model.predict_proba(x)
    assert probabilities.shape == (120, 2)
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    most = model.classes_[probabilities.argmax(axis=1)]
    assert np.array_equal(most, model.predict(x))


def test_a_domain_may_lack_classes_but_not_bring_new_ones() -> None:
    x, y = domain(0)
    model = small().partial_fit(x, y, classes=["above", "below", "on it"])
    model.partial_fit(x[y == "above"], y[y == "above"])
    assert model.predict_proba(x).shape == (120, 3)
    with pytest.raises(ValueError, match=r"'left'.*not among"):
        model.partial_fit(x, np.where(y == "above", y, "left"))
    with pytest.raises(ValueError, match="are not those of the first call"):
        model.partial_fit(x, y, classes=["above", "below"])
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        small().partial_fit(x, y)
    with pytest.raises(ValueError, match="1 class: above"):
        small().fit(x[y == "above"], y[y == "above"])


def test_a_pickle_goes_on_where_the_original_would() -> None:
    model = small(random_state=3).partial_fit(*domain(0), classes=["above", "below"])
    copy = pickle.loads(pickle.dumps(model))
    x = domain(2)[0]
    assert np.array_equal(copy.predict_proba(x), model.predict_proba(x))
    for each in (model, copy):
        each.partial_fit(*domain(1))
    assert np.array_equal(copy.predict_proba(x), model.predict_proba(x))


def test_it_works_in_a_pipeline_and_is_cloned_for_every_fold() -> None:
    x, y = domain(0)
    settings = {"weight_decay": 1e-4}
    pipeline = make_pipeline(StandardScaler(), small(epochs=30, settings=settings))
    assert cross_val_score(pipeline, x, y, cv=3).mean() > 0.8
    copy = clone(pipeline[-1])
    assert copy.get_params() == pipeline[-1].get_params()
    assert not hasattr(copy, "version_")


def test_feature_names_are_kept() -> None:
    pandas = pytest.importorskip("pandas")
    x, y = domain(0)
    frame = pandas.DataFrame(x, columns=["east", "north"])
    model = small().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["east", "north"]
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"east": "west"}))


def random_states() -> list[Any]:
    numpy: Any = np.random.get_state()
    return [random.getstate(), numpy[1].tolist(), torch.get_rng_state().tolist()]


@pytest.mark.parametrize("on", [False, True])
def test_generators_and_settings_of_torch_are_left_alone(
    on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_flush_denormal(on)
    torch.use_deterministic_algorithms(on)
    monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", on)
    states = random_states()
    model = small(settings={"threads": 2})
    model.partial_fit(*domain(0), classes=["above", "below"])
    model.partial_fit(*domain(1)).predict(domain(2)[0])
    assert random_states() == states
    assert torch.get_num_threads() == 1
    assert torch.are_deterministic_algorithms_enabled() == on
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    assert torch.utils.deterministic.fill_uninitialized_memory == on
    assert flushes_denormals() == on
    assert (np.float32(2e-38) / np.float32(4) > 0) != on, "it is the processor's"
    torch.use_deterministic_algorithms(False)


def test_without_a_random_state_the_seed_is_taken_from_numpys_generator() -> None:
    x, y = domain(0)
    found = []
    for seed in (1, 1, 2):
        np.random.seed(seed)
        found.append(small(random_state=None).fit(x, y).predict_proba(x))
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_settings_that_cannot_be_are_refused() -> None:
    x, y = domain(0)
    for settings, message in (
        ({"memory": 10}, "give it as memory="),
        ({"seed": 10}, "give it as random_state="),
        ({"validation": 0.1}, "no meaning for arrays in memory"),
        ({"weight_decai": 0.1}, "weight_decay"),
        ({"weight_decay": -1}, "weight_decay=-1: must be at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            small(settings=settings).fit(x, y)
    with pytest.raises(SettingsError, match="did you mean UDIL"):
        small(strategy="UDILL").fit(x, y)
    with pytest.raises(ModelError, match="all domains at once"):
        small(strategy="Joint").fit(x, y)


def test_settings_cannot_change_between_domains() -> None:
    model = small().partial_fit(*domain(0), classes=["above", "below"])
    model.set_params(epochs=3, settings={"threads": 1})
    with pytest.raises(ValueError, match="they were epochs=2"):
        model.partial_fit(*domain(1))
    model.set_params(epochs=2).partial_fit(*domain(1))


def test_a_memory_that_is_too_small_for_one_more_domain_is_refused() -> None:
    model = small(memory=2)
    model.partial_fit(*domain(0), classes=["above", "below"]).partial_fit(*domain(1))
    with pytest.raises(ModelError, match="no room for one of each of 3 domains"):
        model.partial_fit(*domain(2))
    assert model.version_.record.number == 2, "the model is as it was"
