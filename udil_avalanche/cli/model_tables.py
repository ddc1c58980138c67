"""What the commands on a model print: versions and inspections as tables."""

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from udil_avalanche.formatting import duration, percent

if TYPE_CHECKING:
    from udil_avalanche.learner.inspection import Inspection
    from udil_avalanche.learner.version import VersionRecord

WIDTH_OF_A_LOG = 120


def console() -> Console:
    """Where tables go: the standard output, wide enough if it is no terminal."""
    width = None if sys.stdout.isatty() else WIDTH_OF_A_LOG
    return Console(width=width, highlight=False, soft_wrap=False)


def print_json(value: Mapping[str, Any]) -> None:
    """Print what a script reads.

    :param value: plain values; numbers that are not finite become null.
    """
    from udil_avalanche.runs.run_folder import plain

    print(json.dumps(plain(value)))


def show_update(record: "VersionRecord", model: Path) -> None:
    """Print what an update has done to every domain, and what the method measured.

    :param record: the new version.
    :param model: folder of the model.
    """
    learned = next(each for each in record.domains if each.name == record.domain)
    out = console()
    out.print(
        f"version {record.number} has learned {record.domain}: {learned.samples} "
        f"samples, {learned.reserve} in reserve, {duration(record.seconds)}"
    )
    out.print(_changes(record))
    unknown = [name for name, change in record.changes.items() if not change["n"]]
    if unknown:
        out.print(
            f"The accuracy on {', '.join(unknown)} is unknown: nothing is in reserve."
        )
    if "omega" in record.measured:
        out.print(_omega(record.measured))
    if bound := record.measured.get("bound"):
        terms = ", ".join(
            f"{name.replace('_', ' ')} {value:.2f}"
            for name, value in bound["terms"].items()
        )
        out.print(
            f"bound on the errors of all domains together: {bound['bound']:.2f} "
            f"(current error {bound['current_error']:.2f}, {terms})"
        )
    if record.aside is not None:
        out.print(
            f"[bold]set aside[/bold]: it costs {record.aside}. The model stays as it "
            f"was; use this version all the same by udil-run rollback "
            f"{escape(shlex.quote(str(model)))} {record.number}"
        )


def _changes(record: "VersionRecord") -> Table:
    table = _table(
        "domain", "samples", "before", "after", "change", "classes that lost"
    )
    for name, change in record.changes.items():
        interval = ""
        if change.get("low") is not None:
            difference = change["after"] - change["before"]
            interval = (
                f"{difference:+.1f} ({change['low']:+.1f} to {change['high']:+.1f})"
            )
        table.add_row(
            name + (" (new)" if name == record.domain else ""),
            str(change["n"]),
            percent(change["before"]),
            percent(change["after"]),
            interval,
            ", ".join(change.get("lost", [])),
        )
    return table


def _omega(measured: Mapping[str, Any]) -> Table:
    table = _table(
        "past domain", "alpha", "beta", "gamma", "divergence from the new one"
    )
    for name, omega in measured["omega"].items():
        divergence = measured.get("divergence", {}).get(name)
        shown = "-" if divergence is None else f"{divergence:.2f}"
        table.add_row(name, *(f"{value:.2f}" for value in omega), shown)
    return table


def show_inspection(found: "Inspection") -> None:
    """Print what new samples are to a model.

    :param found: the inspection.
    """
    out = console()
    verdict = "there is nothing to compare with"
    if found.verdict is not None:
        verdict = str(found.verdict)
    out.print(f"{found.n} samples: [bold]{verdict}[/bold]")
    table = _table("domain", "compared with", "divergence (0 same, 2 foreign)", "p")
    tests = dict(found.tests)
    if found.mix is not None:
        tests["all mixed"] = found.mix
    for name, test in tests.items():
        table.add_row(
            name,
            str(test.n_known),
            f"{test.divergence:.2f} ({test.low:.2f} to {test.high:.2f})",
            f"{test.p_value:.3f}",
        )
    out.print(table)
    for title, share in (
        ("accuracy to expect without labels", found.expected),
        ("accuracy by their labels", found.measured),
    ):
        if share is not None:
            ends = f"{100 * share.low:.1f} to {100 * share.high:.1f}"
            out.print(f"{title}: {100 * share.value:.1f} % ({ends})")
    if found.risks and found.verdict is not None and found.verdict.is_new:
        risks = _table(
            "at risk", "error now", "in memory", "bound after an update", "risk"
        )
        for risk in found.risks:
            risks.add_row(
                risk.name,
                f"{100 * risk.error:.1f} %",
                str(risk.n_memory),
                f"{100 * risk.bound:.1f} %",
                f"{risk.score:.2f}",
            )
        out.print(risks)


def _table(first: str, *columns: str) -> Table:
    table = Table(first, box=None, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(column, justify="right")
    return table
