"""Numbers, settings and benchmarks as people read them."""

import pytest

from udil_avalanche.formatting import (
    differing,
    duration,
    markdown_code,
    markdown_text,
    megabytes,
    number_list,
    settings_in_words,
)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([3], "3"), ([2, 0, 1], "0-2"), ([5, 0, 1, 1, 7, 8], "0-1, 5, 7-8")],
)
def test_consecutive_numbers_become_a_range(numbers: list[int], text: str) -> None:
    assert number_list(numbers) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(45.4, "45 s"), (90, "2 min"), (8280, "2.3 h")]
)
def test_durations_are_rounded(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_an_unknown_amount_of_memory_is_a_dash() -> None:
    assert (megabytes(511.6), megabytes(None)) == ("512 MB", "-")


def test_settings_are_written_as_on_the_command_line() -> None:
    assert settings_in_words({"lr": 0.1, "clip_norm": None}) == "lr=0.1, clip_norm=null"


def test_settings_that_differ_or_are_missing_somewhere() -> None:
    assert differing([{"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}]) == ["b", "c"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("rotated_mnist", "rotated_mnist"),
        ("my data (2021), a-b.c", "my data (2021), a-b.c"),
        ("# a\n\n## b", r"\# a \#\# b"),
        ("*bold* [x](y) <b> a|b", r"\*bold\* \[x\](y) \<b\> a\|b"),
        ("_cold_ `code`", r"\_cold\_ \`code\`"),
        (r"a\b", r"a\\b"),
    ],
)
def test_names_in_markdown_are_text(name: str, shown: str) -> None:
    assert markdown_text(name) == shown


@pytest.mark.parametrize(
    ("command", "shown"),
    [("run x=1", "`run x=1`"), ("run `a`", "`` run `a` ``"), ("a\nb", "`a b`")],
)
def test_commands_in_markdown_are_code(command: str, shown: str) -> None:
    assert markdown_code(command) == shown
