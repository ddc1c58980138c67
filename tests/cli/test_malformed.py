"""Whatever comes from outside is answered in a line or two, never by a traceback."""

import io
import json
import string
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from udil_avalanche.cli.main import main
from udil_avalanche.cli.run import OPTIONS
from udil_avalanche.recipes import BENCHMARKS, METHODS, as_dict
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.run_folder import RunFolder

PAIR = ["--strategy=UDIL", "--benchmark=hd_balls"]
KEYS = list(as_dict(resolve("UDIL", "hd_balls")))
NUMBERS = [
    key
    for key, value in as_dict(resolve("UDIL", "hd_balls")).items()
    if isinstance(value, (int, float))
]
quickly = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def answer(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Exit code, output and complaint of the program."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as left:
            code = int(left.code or 0)
    return code, out.getvalue(), err.getvalue()


def check(arguments: Sequence[str]) -> int:
    """Whether the program answers properly, whether the input is right or wrong."""
    code, out, err = answer(arguments)
    if code == 0:
        assert out and not err
    else:
        assert code in (1, 2)
        assert not out
        assert err.endswith("\n")
        assert 1 <= len(err.splitlines()) <= 2, err
        assert "Traceback" not in err
    return code


anything = st.one_of(
    st.text(max_size=30),
    st.integers().map(str),
    st.floats(allow_subnormal=False).map(str),
    st.sampled_from(["", "null", "~", "nan", "-inf", "1e999", "true", "???", "${x}"]),
    st.sampled_from(["${oc.env:HOME}", "[1, 2]", "{a: 1}", "9" * 5000, "../..", "\0"]),
)
pieces = st.one_of(
    anything,
    st.tuples(st.sampled_from(KEYS), anything).map("=".join),
    st.tuples(st.sampled_from(OPTIONS), anything).map(lambda p: f"--{p[0]}={p[1]}"),
    st.sampled_from([*METHODS, *BENCHMARKS, "--strategy", "--memory", "-h", "--"]),
)


@quickly
@given(st.lists(pieces, max_size=4), st.booleans())
@example(["lr=" + "9" * 5000], True)
@example(["output=a\nb\nc\nd"], True)
@example(["--seed=\udcff"], True)
def test_command_lines(arguments: list[str], with_pair: bool) -> None:
    # With --list nothing is run, even if the arguments happen to be right.
    check([*arguments, *PAIR, "--list"] if with_pair else [*arguments, "--list"])


@quickly
@given(st.sampled_from(NUMBERS), st.text(string.ascii_letters + "!:{", min_size=1))
def test_a_value_of_the_wrong_kind_is_never_taken(key: str, value: str) -> None:
    assume(
        value.lower()
        not in {"true", "false", "yes", "no", "on", "off", "y", "n", "t", "f"}
    )
    assert check([*PAIR, f"{key}={value}", "--list"]) == 2


yaml_texts = st.one_of(
    st.text(max_size=60),
    st.binary(max_size=60),
    st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text()), anything).map(
        lambda lines: "\n".join(f"{key}: {value}" for key, value in lines.items())
    ),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)
        ),
    ).map(json.dumps),
)
BOMB = "a: &a [x, x]\n" + "\n".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]"
    for a, b in zip(string.ascii_lowercase, string.ascii_lowercase[1:], strict=False)
)


@quickly
@given(yaml_texts)
@example("lr: !!python/object/apply:os.system ['touch escaped']")
@example("lr: !!timestamp 2001-99-99")
@example("? [a, b]\n: c")
@example("[" * 3000)
@example(BOMB)
@example("lr: *nobody")
@example("--- {a: 1}\n--- {b: 2}")
def test_config_files(content: str | bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "config.yaml")
        encoded = content.encode() if isinstance(content, str) else content
        file.write_bytes(encoded)
        check([*PAIR, f"--config={file}", "--list"])
        assert [path.name for path in Path(folder).iterdir()] == ["config.yaml"]


@quickly
@given(
    st.sampled_from(["result.json", "done", "settings.yaml"]),
    st.one_of(st.binary(max_size=80), yaml_texts),
    st.booleans(),
)
@example("result.json", "[" * 5000, True)
@example("result.json", '{"settings": {"validation": "x"}}', True)
def test_result_folders(name: str, content: str | bytes, old: bool) -> None:
    """A finished run with one file replaced, with or without its checksums."""
    with tempfile.TemporaryDirectory() as folder:
        output = f"--output={folder}"
        run_folder = RunFolder.of(
            resolve("UDIL", "hd_balls", options={"output": folder})
        )
        run_folder.begin(resolve("UDIL", "hd_balls", options={"output": folder}))
        run_folder.finish({"data": "hd_balls"})
        if old:
            (run_folder.path / "done").write_bytes(b"")
        encoded = content.encode() if isinstance(content, str) else content
        (run_folder.path / name).write_bytes(encoded)
        # Never a result: the finished run here is almost empty.
        code, _, err = answer([*PAIR, output])
        assert code == 1
        assert 1 <= len(err.splitlines()) <= 2, err


def test_a_config_runs_no_code_and_reads_no_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET", "hidden")
    file = tmp_path / "config.yaml"
    file.write_text("output: ${oc.env:SECRET}")
    code, out, err = answer([*PAIR, f"--config={file}", "--list"])
    assert code == 2
    assert "hidden" not in out + err
    assert "output=" in err
