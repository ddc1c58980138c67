"""What new samples are to a model, before any training."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from udil_avalanche.learner.expected_accuracy import (
    expected_accuracy,
    measured_accuracy,
)
from udil_avalanche.learner.predictor import Predictor
from udil_avalanche.learner.risk import DomainRisk, ranked
from udil_avalanche.learner.two_sample import TwoSampleTest, two_sample_test
from udil_avalanche.learner.verdict import Verdict, verdict
from udil_avalanche.learner.version import Version
from udil_avalanche.learner.wilson import Share


@dataclass(frozen=True)
class Inspection:
    """What new samples are to a model.

    :param n: number of new samples.
    :param tests: how far they are from each domain, in the order these were learned.
    :param mix: how far they are from all domains mixed, if there are several.
    :param verdict: what these tests say together; ``None`` without anything to compare
        with.
    :param expected: the accuracy to expect on them, found without labels; ``None``
        without a reserve.
    :param measured: their true accuracy, if they have labels.
    :param risks: the old domains that an update puts at risk, the largest risk first.
    """

    n: int
    tests: dict[str, TwoSampleTest]
    mix: TwoSampleTest | None
    verdict: Verdict | None
    expected: Share | None
    measured: Share | None
    risks: list[DomainRisk]

    def as_dict(self) -> dict[str, Any]:
        """The inspection in plain values."""
        found = asdict(self)
        found["verdict"] = None
        if self.verdict is not None:
            found["verdict"] = {**asdict(self.verdict), "says": str(self.verdict)}
        found["risks"] = [
            {**asdict(risk), "score": risk.score, "bound": risk.bound}
            for risk in self.risks
        ]
        return found


def inspect(
    version: Version, inputs: Tensor, labels: Tensor | None = None, device: str = "cpu"
) -> Inspection:
    """Compare new samples with every domain that a version has learned.

    They are compared with the reserve, in the model's embeddings. A domain without a
    reserve is compared by its samples in memory and by inputs, since the model knows
    what is in memory by heart.

    :param version: the version.
    :param inputs: the new samples.
    :param labels: their classes, if they are known.
    :param device: where to compute.
    """
    predictor = Predictor.of(version, device)
    logits = predictor.logits(inputs)
    classes = logits.argmax(dim=1) if labels is None else labels
    embeddings = predictor.embeddings(inputs)
    tests: dict[str, TwoSampleTest] = {}
    known: list[tuple[Tensor, Tensor]] = []
    answers: list[tuple[Tensor, Tensor]] = []
    errors: dict[str, float] = {}
    stored = memory_of(version)
    for name in version.record.names:
        reserve = version.reserves.get(name)
        if reserve is None:
            if name in stored:
                x, y = stored[name]
                tests[name] = two_sample_test(
                    known=x.float(),
                    new=inputs.float(),
                    known_classes=None if labels is None else y,
                    new_classes=labels,
                )
            continue
        its_logits = predictor.logits(reserve.inputs)
        its_classes = its_logits.argmax(dim=1) if labels is None else reserve.labels
        its_embeddings = predictor.embeddings(reserve.inputs)
        tests[name] = two_sample_test(
            known=its_embeddings,
            new=embeddings,
            known_classes=its_classes,
            new_classes=classes,
        )
        known.append((its_embeddings, its_classes))
        answers.append((its_logits.softmax(dim=1), reserve.labels))
        right = its_logits.argmax(dim=1) == reserve.labels
        errors[name] = 1 - right.float().mean().item()
    mix = None
    if len(known) > 1:
        fewest = min(len(each) for _, each in known)
        mix = two_sample_test(
            known=torch.cat([e[:fewest] for e, _ in known]),
            new=embeddings,
            known_classes=torch.cat([c[:fewest] for _, c in known]),
            new_classes=classes,
        )
    probabilities = logits.softmax(dim=1)
    expected = None
    if answers:
        expected = expected_accuracy(reserve=answers, probabilities=probabilities)
    measured = None
    if labels is not None:
        measured = measured_accuracy(probabilities=probabilities, labels=labels)
    accuracy = measured or expected
    return Inspection(
        n=len(inputs),
        tests=tests,
        mix=mix,
        verdict=verdict(tests=tests, mix=mix) if tests else None,
        expected=expected,
        measured=measured,
        risks=[]
        if accuracy is None
        else ranked(
            DomainRisk(
                name=name,
                error=error,
                divergence=tests[name].divergence,
                n_memory=len(stored[name][1]) if name in stored else 0,
                new_error=1 - accuracy.value,
            )
            for name, error in errors.items()
        ),
    )


def memory_of(version: Version) -> dict[str, tuple[Tensor, Tensor]]:
    """The inputs and labels that the memory holds of each domain, by its name.

    :param version: the version.
    """
    for state in version.state["plugins"].values():
        memory = state.get("memory")
        if memory is not None and memory["fields"]:
            x, y, *_ = memory["fields"]
            return {
                name: (x[memory["domains"] == i], y[memory["domains"] == i])
                for i, name in enumerate(version.record.names)
            }
    return {}
