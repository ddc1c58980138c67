"""The benchmark's command line."""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import torch
from rich.console import Console

from bench.measure import measure
from bench.report import show
from bench.scale import QUICK, Scale
from udil_avalanche.runs.torch_setup import set_up_torch


def main(arguments: list[str] | None = None) -> None:
    """Measure, show tables and write JSON.

    :param arguments: the command line; that of the process by default.
    """
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument(
        "--data", default="data", help="folder with MNIST, and with PACS as pacs"
    )
    parser.add_argument("--threads", type=int, help="threads that torch computes with")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try it")
    parser.add_argument("--only", default="", help="a part, such as features")
    parser.add_argument("--json", type=Path, default=Path("speed.json"), help="result")
    given = parser.parse_args(arguments)
    if given.threads is not None:
        torch.set_num_threads(given.threads)
    set_up_torch()

    scale = replace(QUICK if given.quick else Scale(), root=given.data)
    console, results = Console(), {}
    for name, values in measure(scale, given.only):
        show(name, values, console)
        results[name] = values
        given.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()


__all__ = ["main"]
