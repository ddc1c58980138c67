"""What the runs were made with."""

from collections.abc import Sequence

from udil_avalanche.report.collect import Run


def origins(runs: Sequence[Run]) -> list[str]:
    """A line for each set of versions and each machine that runs were made with.

    :param runs: the runs.
    """
    counts: dict[str, int] = {}
    for run in runs:
        line = _origin(run)
        counts[line] = counts.get(line, 0) + 1
    return [f"{_runs(count)}: {line}" for line, count in sorted(counts.items())]


def commit_of(run: Run) -> str:
    """The commit that a run was made with, shortened; with ``-dirty`` if there were
    changes beside it.

    :param run: the run.
    """
    commit = str(run.result["versions"]["commit"] or "unknown")
    dirty = "-dirty" if commit.endswith("-dirty") else ""
    return commit.removesuffix("-dirty")[:10] + dirty


def _origin(run: Run) -> str:
    versions = dict(run.result["versions"])
    platform, cpus = versions.pop("platform"), versions.pop("cpus")
    del versions["commit"]
    cpu = versions.pop("cpu", None)
    threads = run.result["settings"]["threads"] or "all"
    software = ", ".join(f"{name} {version}" for name, version in versions.items())
    hardware = ", ".join(filter(None, [cpu, f"{cpus} cores", f"threads: {threads}"]))
    return f"{software}, commit {commit_of(run)}; {platform}; {hardware}"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


__all__ = ["commit_of", "origins"]
