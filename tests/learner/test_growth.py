"""Outputs for classes that a model did not know."""

import numpy as np
import pytest
import torch

from udil_avalanche.benchmarks.reading.bad_data import BadData
from udil_avalanche.learner.growth import grown
from udil_avalanche.learner.learner import DomainLearner
from udil_avalanche.learner.predictor import Predictor
from udil_avalanche.recipes import METHODS

SEQUENTIAL = [name for name, recipe in METHODS.items() if not recipe.is_joint]


def samples(labels: list[str], seed: int) -> tuple[np.ndarray, list[str]]:
    """Clusters, one for each class."""
    rng = np.random.default_rng(seed)
    centres = {"a": (3, 0), "b": (0, 3), "c": (-3, -3)}
    y = [labels[k % len(labels)] for k in range(120)]
    x = np.array([centres[c] for c in y]) + rng.normal(size=(120, 2))
    return x.astype(np.float32), y


@pytest.mark.parametrize("strategy", SEQUENTIAL)
def test_a_model_learns_a_class_that_it_did_not_have(strategy: str) -> None:
    settings = {"memory": 20} if METHODS[strategy].has_memory else {}
    if strategy == "Ridge":
        settings["random_features"] = 50
    learner = DomainLearner(
        strategy, epochs=20, hidden=16, optimizer="adam", lr=0.01, **settings
    )
    learner.update(*samples(["a", "b"], 0), name="first")
    x, y = samples(["a", "b", "c"], 1)
    with pytest.raises(BadData, match="does not know the class c"):
        learner.update(x, y, name="second")
    record = learner.update(x, y, name="second", grow=True)
    assert record.classes == ["a", "b", "c"]
    assert learner.predict_proba(x).shape == (120, 3)
    is_new = np.array(y) == "c"
    of_c = learner.predict_proba(x)[:, 2]
    assert of_c[is_new].mean() > 2 * of_c[~is_new].mean()
    if strategy in ("UDIL", "ER", "DER++", "Fine-tune", "NCM", "SLDA", "Ridge"):
        # Others hold on to the old outputs, or evaluate a slow average.
        assert (learner.predict(x)[is_new] == "c").mean() > 0.8


def test_the_old_outputs_stay_as_they_are() -> None:
    learner = DomainLearner("DER++", memory=20, epochs=3, hidden=16)
    x, y = samples(["a", "b"], 0)
    learner.update(x, y, name="first")
    before = learner.folder.version()
    after = grown(before, ["a", "b", "c", "d"])
    inputs = torch.from_numpy(x)
    old, new = (Predictor.of(each).logits(inputs) for each in (before, after))
    torch.testing.assert_close(new[:, :2], old)
    assert torch.equal(new.argmax(dim=1), old.argmax(dim=1))
    # Logits that the memory stores have the same new outputs.
    [memory] = [s["memory"] for s in after.state["plugins"].values() if "memory" in s]
    assert memory["fields"][-1].shape[-1] == 4
    torch.testing.assert_close(memory["fields"][-1][0, 2:], new[0, 2:])


def test_the_classes_that_it_has_come_first() -> None:
    learner = DomainLearner("ER", memory=20, epochs=1, hidden=8)
    learner.update(*samples(["a", "b"], 0), name="first")
    with pytest.raises(ValueError, match="must come first"):
        grown(learner.folder.version(), ["b", "a"])
