"""Runs the commands of a page again, and writes what they print into it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", flags=re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)", flags=re.MULTILINE)
WIDTH = 92
"""Characters in a line of output: what fits beside the contents of the site."""

EXPECTED = (0, 3)
"""3 is an answer: a new domain, or an update that was set aside."""


class Step(NamedTuple):
    """A command and all that it printed."""

    command: str
    output: str

    def __str__(self) -> str:
        return f"$ {self.command}\n{self.output}"


def commands_of(page: str) -> list[str]:
    """The commands of a page, in its order.

    :param page: Markdown.
    """
    return [each for block in BLOCK.findall(page) for each in COMMAND.findall(block)]


def retell(file: Path, folder: Path) -> list[Step]:
    """Run the commands of a page one after another, and write what they print into it.

    :param file: the page; its blocks ``console`` have the commands after ``$``.
    :param folder: where to run them.
    :return: the steps, in order.
    :raises RuntimeError: if a command fails.
    """
    text = file.read_text(encoding="utf-8")
    steps = [run(command, folder) for command in commands_of(text)]
    told = iter(steps)

    def again(block: re.Match[str]) -> str:
        own = [next(told) for _ in COMMAND.findall(block.group())]
        return "\n".join(str(step) for step in own)

    file.write_text(BLOCK.sub(again, text), encoding="utf-8")
    return steps


def run(command: str, folder: Path) -> Step:
    """Run a command in a shell.

    :param command: the command.
    :param folder: where.
    :raises RuntimeError: if it fails.
    """
    print(f"$ {command}", flush=True)
    binaries = [str(Path(sys.executable).parent), os.environ["PATH"]]
    surroundings = {
        **os.environ,
        "PATH": os.pathsep.join(binaries),
        "PYTHONPATH": str(ROOT),
        "COLUMNS": str(WIDTH),
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=surroundings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode not in EXPECTED:
        raise RuntimeError(f"{command}\n{done.stdout}exit code {done.returncode}")
    lines = [line.rstrip() for line in done.stdout.strip("\n").split("\n")]
    if done.returncode:
        lines.append(f"exit code {done.returncode}")
    return Step(command, "".join(f"{line}\n" for line in lines if done.stdout))
