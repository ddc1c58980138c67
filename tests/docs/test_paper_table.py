"""The table in docs/udil.md: where each item of the paper is implemented."""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "udil.md"

LABELS = """
eq:all-domain loss
def:erm
lem:trivial-dil
eq:erm_bound
lemma:in-domain
eq:bound in-domain
lemma:between-domain
eq:bound between-domain
thm:generalization-bound
eq:final_bound
cor:tightest-bound
tab:unify
def:classification-loss
eq:classification_loss
def:distillation-loss
eq:distillation_loss
eq:empirial_HdH
alg:udil
eq:V_l
eq:V_01
eq:V_adv
lemma:weighted-domain-bound
lemma:weighted-labeling-bound
lmm:ben-david
tab:app-unification
eq:multilabel_loss
alg:balancedsampling
eq:minimax-game
eq:past-embedding-distillation
"""
"""All labels of the paper's definitions, lemmas, theorem, corollary, algorithms and
equations, in the paper's order. Steps of proofs and of the derivations in appendix B
are left out, and so are the tables of results."""

WITHOUT_LABEL = """
empirical divergence
min-max objective
C
appendix C.1
(V_s)
L_{enc}
A_{t_1:t_2}
F_t
W_t
"""
"""What the paper defines without a label."""

ROWS = re.findall(r"^\| (.+?) \| (.*?) ?\| `([\w.]+)` \|$", PAGE.read_text(), re.M)


def implementation(name: str) -> Any:
    module, _, attribute = f"udil_avalanche.{name}".rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def item(text: str) -> str:
    """What the paper calls it: the text up to the first comma."""
    return text.partition(",")[0]


def test_every_label_is_in_the_table() -> None:
    in_table = [
        label for _, labels, _ in ROWS for label in re.findall("`(.+?)`", labels)
    ]
    assert set(in_table) == set(LABELS.split("\n")) - {""}


def test_every_item_without_a_label_is_in_the_table() -> None:
    in_table = {item(text) for text, labels, _ in ROWS if not labels}
    assert in_table >= set(WITHOUT_LABEL.split("\n")) - {""}


@pytest.mark.parametrize(("text", "labels", "name"), ROWS, ids=[row[2] for row in ROWS])
def test_the_code_exists_and_cites_the_paper(text: str, labels: str, name: str) -> None:
    found = implementation(name)
    if isinstance(found, dict):
        found = importlib.import_module(f"udil_avalanche.{name}".rpartition(".")[0])
    docstring = " ".join(found.__doc__.split())
    cited = rf"(?<!\w){re.escape(item(text))}(?!\w)"
    assert re.search(cited, docstring, flags=re.IGNORECASE)
