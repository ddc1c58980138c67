"""Mutated image folders and configurations: a message in a line or two, or a run with
the samples that are there, never a traceback.

``pytest -m slow tests/cli/test_fuzz_data.py`` throws many more.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.fuzzing import FEW, answer, damaged, damages, json_values, many
from udil_avalanche.data.image_listing import SUFFIXES

COUNTS = {"a": {"cat": 4, "dog": 4}, "b": {"cat": 4, "dog": 4}}

which = st.integers(0, 15)
names = st.text(min_size=1, max_size=6)
changes = st.one_of(
    st.tuples(st.just("damage"), which, damages),
    st.tuples(st.just("name"), which, names),
    st.tuples(st.just("remove"), which, st.none()),
    st.tuples(st.just("folder"), which, names),
    st.tuples(st.just("link"), which, st.sampled_from(["..", ".", "../..", "x"])),
)
"""Of the n-th image: its bytes, its name, whether it is there, what is beside it."""


def change(root: Path, kind: str, number: int, how: Any) -> bool:
    """Whether the folder could be changed: not every text is a name of a file."""
    image = sorted(root.rglob("*.png"))[number]
    try:
        match kind:
            case "damage":
                image.write_bytes(damaged(image.read_bytes(), how))
            case "name":
                image.rename(image.parent / how)
            case "remove":
                image.unlink()
            case "folder":
                (image.parent / how).mkdir()
            case "link":
                (image.parent / "link").symlink_to(image.parent / how)
    except (OSError, ValueError):
        return False
    return True


def images_below(root: Path) -> int:
    return sum(
        file.suffix.lower() in SUFFIXES and not file.name.startswith(".")
        for file in root.rglob("*")
        if file.is_file()
    )


def learn_folders(write_tree: Callable[..., Path], altered: list[Any]) -> None:
    """If the folders can be learned from, then from every image in them."""
    with tempfile.TemporaryDirectory() as scratch:
        root = write_tree(Path(scratch, "photos"), COUNTS)
        for each in altered:
            if len(list(root.rglob("*.png"))) < 16 or not change(root, *each):
                break
        learn = ["learn", f"{scratch}/model", "--data", str(root), "--json"]
        quick = ["epochs=1", "network=squeezenet1_1", "image_size=32", "workers=0"]
        code, out = answer(*learn, "--strategy=Fine-tune", *quick, "threads=1")
        if code == 0:
            domains = json.loads(out.splitlines()[-1])["domains"]
            counted = sum(each["samples"] + each["reserve"] for each in domains)
            assert counted == images_below(root)


few_runs = settings(max_examples=4, **FEW)
altered = st.lists(changes, min_size=1, max_size=2)


@few_runs
@given(altered=altered)
def test_mutated_image_folders(write_tree: Any, altered: list[Any]) -> None:
    learn_folders(write_tree, altered)


@pytest.mark.slow
@many
@given(altered=altered)
def test_many_mutated_image_folders(write_tree: Any, altered: list[Any]) -> None:
    learn_folders(write_tree, altered)


CONFIG = {"lr": 0.1, "epochs": 2, "memory": 50, "alpha": 0.5, "beta": 1.0}

configs = st.one_of(
    damages.map(lambda damage: damaged(yaml.safe_dump(CONFIG).encode(), damage)),
    st.dictionaries(st.sampled_from([*CONFIG, "x"]), json_values, max_size=3).map(
        lambda entries: json.dumps(entries).encode()
    ),
)


def list_config(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "der.yaml")
        file.write_bytes(content)
        place = ["--config", str(file), f"--output={scratch}", "--list"]
        answer("--strategy=DER++", "--benchmark=hd_balls", *place)


@settings(max_examples=25, **FEW)
@given(content=configs)
def test_configs(content: bytes) -> None:
    list_config(content)


@pytest.mark.slow
@many
@given(content=configs)
def test_many_configs(content: bytes) -> None:
    list_config(content)
