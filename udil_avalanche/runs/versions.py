"""The software and the machine that a run was made with."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from udil_avalanche import __version__

PACKAGE = "udil_avalanche"
"""The name of this package among the versions."""

PACKAGES = ("torch", "torchvision", "avalanche-lib", "numpy")


def versions() -> dict[str, Any]:
    """Everything about the software and the machine that may change a result."""
    return {
        PACKAGE: __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
        "platform": platform.platform(),
        "cpu": _cpu(),
        "cpus": os.cpu_count(),
    }


def _cpu() -> str:
    """The processor's name, as far as Linux or Python knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.processor() or platform.machine()


def _commit() -> str | None:
    """The commit of the checkout that the package is run from, if it is one."""
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / ".git").exists():
        return None
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        answer = subprocess.run(
            command, cwd=checkout, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
