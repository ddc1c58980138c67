"""The learner from Python: data of every kind, predictions, folders."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset

from udil_avalanche import DomainLearner
from udil_avalanche.data import domain_of
from udil_avalanche.data.tensor_dataset import domain_dataset
from udil_avalanche.errors import BadData, ModelError, SettingsError

QUICK: dict[str, Any] = {"memory": 20, "epochs": 5, "hidden": 32}


@pytest.fixture(scope="module")
def samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3)).astype(np.float32)
    return x, (x[:, 0] > 0).astype(np.int64) + 5


@pytest.fixture(scope="module")
def learner(samples: tuple[np.ndarray, np.ndarray]) -> DomainLearner:
    learner = DomainLearner("UDIL", **QUICK)
    learner.update(*samples, name="2022")
    return learner


def test_it_predicts_the_labels_that_it_was_given(
    learner: DomainLearner, samples: tuple[np.ndarray, np.ndarray]
) -> None:
    x, y = samples
    assert learner.classes_.tolist() == [5, 6]
    assert (learner.predict(x) == y).mean() > 0.9
    assert learner.score(x, y) == pytest.approx((learner.predict(x) == y).mean())
    probabilities = learner.predict_proba(x)
    assert probabilities.shape == (300, 2)
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(300), abs=1e-5)


def test_names_of_classes_stay_names(samples: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = samples
    learner = DomainLearner("ER", **QUICK)
    learner.update(x, np.where(y == 5, "cat", "dog"), name="photos")
    assert set(learner.predict(x).tolist()) <= {"cat", "dog"}


def test_arrays_tensors_datasets_and_files_are_learned_alike(
    samples: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    x, y = samples
    np.savez(tmp_path / "2022.npz", x=x, y=y)
    tensors = torch.from_numpy(x), torch.from_numpy(y)
    given: list[tuple[Any, ...]] = [
        (x, y),
        (x.astype(np.float64), y.tolist()),
        tensors,
        (TensorDataset(*tensors),),
        (domain_dataset(domain_of(*tensors)),),
        (tmp_path / "2022.npz",),
    ]
    found = []
    for data in given:
        learner = DomainLearner("ER", **QUICK)
        learner.update(*data, name="2022")
        found.append(learner.folder.weights())
    for weights in found[1:]:
        assert all(torch.equal(weights[name], found[0][name]) for name in found[0])


def test_a_saved_model_goes_on_in_its_folder(
    learner: DomainLearner, samples: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    x, y = samples
    learner.save(tmp_path / "model")
    loaded = DomainLearner.load(tmp_path / "model")
    assert (loaded.predict_proba(x) == learner.predict_proba(x)).all()
    record = loaded.update(x + 1, y, name="2023")
    assert record.names == ["2022", "2023"]
    assert [each.number for each in loaded.history] == [1, 2]
    assert learner.record.number == 1
    with pytest.raises(ModelError, match="exists"):
        learner.save(tmp_path / "model")
    with pytest.raises(ModelError, match=r"DomainLearner\.load"):
        DomainLearner("UDIL", path=tmp_path / "model")


def test_it_says_what_new_samples_are(learner: DomainLearner) -> None:
    rng = np.random.default_rng(1)
    same = rng.normal(size=(200, 3)).astype(np.float32)
    found = learner.inspect(same)
    assert found.verdict is not None and found.verdict.kind == "nothing new"
    assert found.measured is None and found.expected is not None
    assert found.expected.low <= (learner.predict(same) - 5 == (same[:, 0] > 0)).mean()
    found = learner.inspect(same + 4, (same[:, 0] > 0) + 5)
    assert found.verdict is not None and found.verdict.is_new
    assert found.measured is not None
    assert [risk.name for risk in found.risks] == ["2022"]
    assert found.as_dict()["verdict"]["says"] == "a new domain: update"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((np.zeros((5, 3)), [5] * 4), "each input needs one"),
        ((np.zeros((5, 3)),), "need labels"),
        ((np.zeros(5), [5] * 5), "one row each"),
        ((np.full((5, 3), np.nan), [5] * 5), "not finite"),
        ((np.array([["a"] * 3] * 5), [5] * 5), "not real numbers"),
        ((np.zeros((5, 3)), [7] * 5), "does not know the class 7"),
        (("nowhere",), "no such folder"),
    ],
)
def test_data_that_cannot_be_learned_are_refused(
    data: tuple[Any, ...], message: str, learner: DomainLearner
) -> None:
    with pytest.raises(BadData, match=message):
        learner.update(*data, name="new")
    assert learner.folder.numbers == [1]


@pytest.mark.parametrize("x", [np.zeros((5, 4)), np.zeros((5, 3), np.uint8)])
def test_inputs_of_another_kind_are_refused(
    x: np.ndarray, learner: DomainLearner
) -> None:
    with pytest.raises(ModelError):
        learner.predict(x)
    with pytest.raises(ModelError):
        learner.update(x, [5, 6, 5, 6, 5], name="new")


def test_settings_of_the_training_are_fixed(learner: DomainLearner) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 3)).astype(np.float32)
    y = (x[:, 0] > 0) + 5
    again = DomainLearner.load(learner.folder.path, lr=0.1)
    with pytest.raises(SettingsError, match="lr: fixed when the model was made"):
        again.update(x, y, name="new")


def test_a_memory_without_room_for_one_more_domain_says_so() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 3)).astype(np.float32)
    y = (x[:, 0] > 0).astype(int)
    learner = DomainLearner("ER", memory=1, epochs=1, hidden=4)
    learner.update(x, y, name="one")
    with pytest.raises(ModelError, match="no room"):
        learner.update(x + 1, y, name="two")


def test_declared_classes_and_a_domain_that_lacks_one(
    domains: Callable[[int], Path],
) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 3)).astype(np.float32)
    learner = DomainLearner("ER", memory=8, epochs=1, hidden=4, classes=[0, 1, 2])
    learner.update(x, (x[:, 0] > 0).astype(int), name="two of three")
    assert learner.classes_.tolist() == [0, 1, 2]
    with pytest.raises(BadData, match="at least two classes"):
        DomainLearner("ER").update(x, [1] * 40, name="one class")
