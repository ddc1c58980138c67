from pathlib import Path
from typing import Any

from udil_avalanche.report.advice import Advice, advice
from udil_avalanche.report.collect import collect
from udil_avalanche.report.tables import tables_of


def advice_on(place: Path) -> Advice | None:
    [table] = tables_of(collect([place]).runs)
    return advice(table)


def test_it_names_the_best_its_cost_and_the_alternatives(
    make_run: Any, tmp_path: Path
) -> None:
    for seed in range(2):
        make_run("UDIL", accuracy=87.0 + seed / 10, seconds=600.0, seed=seed)
        make_run("DER++", accuracy=86.5 + seed / 10, seconds=120.0, seed=seed)
        make_run("ER", accuracy=82.0 + seed / 10, seconds=60.0, seed=seed)
        make_run("LwF", accuracy=52.0 + seed / 10, seconds=30.0, seed=seed)
        make_run("Joint", accuracy=91.0 + seed / 10, seed=seed)
    found = advice_on(tmp_path)
    assert found is not None and found.best.method == "UDIL"
    text = " ".join(found.sentences)
    assert text.startswith("Use UDIL: ")
    assert "87.0 ± 0.1 %" in text and "A run takes 10 min, 512 MB." in text
    assert "Second is DER++ with 86.5 ± 0.1 %, 0.5 points less." in text
    assert "DER++ is within 1 point of it and takes 2 min, 5.0 times as fast." in text
    assert "If no old samples may be kept: LwF reaches 52.0 ± 0.1 % in 30 s." in text
    assert "reaches 91.0 ± 0.1 %: 4.0 points more." in text
    assert "Not measured yet: Fine-tune, oEWC, SI, GEM, A-GEM, CLS-ER, ESM-ER." in text
    assert "one seed" not in text


def test_it_says_when_the_lead_may_be_chance(make_run: Any, tmp_path: Path) -> None:
    for seed in range(2):
        make_run("UDIL", accuracy=87.0 + 5 * seed, seed=seed)
        make_run("ER", accuracy=86.0 + seed, seed=seed)
    found = advice_on(tmp_path)
    assert found is not None
    assert "which may be chance" in found.sentences[1]


def test_it_says_when_there_is_one_seed(make_run: Any, tmp_path: Path) -> None:
    make_run("UDIL", accuracy=87.0)
    make_run("ER", accuracy=80.0, seconds=50.0)
    found = advice_on(tmp_path)
    assert found is not None
    text = " ".join(found.sentences)
    assert "7.0 points less, but with one seed that may be chance." in text
    assert "Measured with one seed only: ER, UDIL." in text
    assert "If time matters" not in text, "7 points are not close"


def test_a_method_without_memory_may_be_the_best(make_run: Any, tmp_path: Path) -> None:
    make_run("SI", accuracy=87.0)
    make_run("ER", accuracy=80.0)
    found = advice_on(tmp_path)
    assert found is not None and found.best.method == "SI"
    assert "may be kept" not in " ".join(found.sentences)


def test_joint_training_alone_is_no_advice(make_run: Any, tmp_path: Path) -> None:
    make_run("Joint", accuracy=87.0)
    assert advice_on(tmp_path) is None
