"""How torch is set up, in a separate process."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import sys

import torch

from udil_avalanche.runs.torch_setup import keep_freed_memory

if sys.argv[1] == "kept":
    assert keep_freed_memory()


def pages() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def step() -> None:
    held = [torch.ones(2**24) for _ in range(3)]


for _ in range(5):
    step()
before = pages()
step()
print(pages() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's malloc only")
def test_memory_that_a_step_has_freed_serves_the_next() -> None:
    def faults(malloc: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", FAULTS, malloc],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return int(done.stdout)

    assert faults("kept") < faults("given back") / 10
