"""What the fuzz tests share: damages, and answers that must be brief."""

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from udil_avalanche.cli.main import main

FEW = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "derandomize": True,
}
few, many = settings(max_examples=15, **FEW), settings(max_examples=300, **FEW)


def answer(*arguments: str) -> tuple[int, str]:
    """Exit code and output of the program, which must be brief if it complains."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    assert code in (0, 1, 2, 3)
    assert "Traceback" not in err.getvalue()
    if code in (1, 2):
        assert 1 <= len(err.getvalue().splitlines()) <= 2, err.getvalue()
    return code, out.getvalue()


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=6,
)
damages = st.one_of(
    st.tuples(st.just("flip"), st.integers(0, 10**6), st.integers(0, 7)),
    st.tuples(st.just("cut"), st.integers(0, 10**6), st.just(0)),
    st.tuples(st.just("put"), st.integers(0, 10**6), st.binary(max_size=8)),
)


def damaged(content: bytes, damage: tuple[str, int, Any]) -> bytes:
    kind, place, how = damage
    place %= len(content) + 1
    if kind == "cut":
        return content[:place]
    if kind == "put":
        return content[:place] + how + content[place:]
    flipped = bytearray(content + b" ")
    flipped[place] ^= 1 << how
    return bytes(flipped)
