"""The software and hardware that runs were made with."""

from collections import Counter
from collections.abc import Sequence

from udil_avalanche.report.run import Run


def origins(runs: Sequence[Run]) -> list[str]:
    """One line for each combination of versions and machine, with its number of runs.

    :param runs: the runs.
    """
    return [
        f"{count} {'run' if count == 1 else 'runs'}: {line}"
        for line, count in sorted(Counter(map(_origin, runs)).items())
    ]


def commit_of(run: Run) -> str:
    """The shortened commit of a run's code, with ``-dirty`` if there were uncommitted
    changes.

    :param run: the run.
    """
    commit = str(run.versions["commit"] or "unknown")
    dirty = "-dirty" if commit.endswith("-dirty") else ""
    return commit.removesuffix("-dirty")[:10] + dirty


def _origin(run: Run) -> str:
    versions = run.versions
    platform, cpus = versions.pop("platform"), versions.pop("cpus")
    del versions["commit"]
    cpu = versions.pop("cpu", None)
    threads = run.written_settings["threads"] or "all"
    software = ", ".join(f"{name} {version}" for name, version in versions.items())
    hardware = ", ".join(filter(None, [cpu, f"{cpus} cores", f"threads: {threads}"]))
    return f"{software}, commit {commit_of(run)}; {platform}; {hardware}"
