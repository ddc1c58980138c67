"""Seq-CORe50, the paper's real-world benchmark."""

from pathlib import Path
from typing import NamedTuple

from udil_avalanche.benchmarks.fetching.download import DownloadError, fetch, unpack_zip
from udil_avalanche.benchmarks.reading.bad_data import BadData, Findings
from udil_avalanche.benchmarks.reading.image_tree import (
    ImageDomain,
    files_by_class,
    image_benchmark,
)
from udil_avalanche.benchmarks.reading.splitting import Splitter
from udil_avalanche.data.scenario import DomainScenario

SAMPLE_MARK = "SAMPLE"
"""A file of this name says that a tree is the stand-in that the project makes."""

NAMED = 5
"""How many missing folders a message names."""


class Archive(NamedTuple):
    """One of the archives that CORe50 comes in."""

    name: str
    url: str
    md5: str


ARCHIVES = {
    128: Archive(
        "core50_128x128",
        "http://bias.csr.unibo.it/maltoni/download/core50/core50_128x128.zip",
        "745f3373fed08d69343f1058ee559e13",
    ),
    32: Archive(
        "core50_32x32",
        "http://vps.continualai.org/data/core50_32x32.zip",
        "d89d34cdc0281fa84074430e9a22b728",
    ),
}
"""The archives and their checksums, by the size of the images."""


class CORe50Unavailable(BadData):
    """CORe50 is not there and could not be fetched."""


def seq_core50(
    root: str | Path,
    *,
    domains: int = 11,
    objects: int = 50,
    image_size: int = 128,
    test_share: float = 0.2,
    stratified: bool = False,
    train_per_domain: int | None = None,
    validation: float = 0.0,
    check: bool = True,
    skip_bad: bool = False,
    seed: int = 0,
) -> DomainScenario:
    """Seq-CORe50 (section 5.5 of the paper): the 50 objects of CORe50 are the classes,
    its 11 sessions (backgrounds and lights) the domains; a fifth of each session is
    tested on.

    The official archive is read as it unpacks, ``core50_128x128/s1..s11/o1..o50``, also
    where Avalanche's ``CORe50Dataset`` has put it. Class k is object o(k + 1).

    :param root: data folder; what it lacks is downloaded into it.
    :param domains: sessions 1 to this.
    :param objects: objects 1 to this.
    :param image_size: width and height of the images. At 32 the archive of that size is
        read if it is there; any other size is scaled from the archive of 128.
    :param test_share: share of each session to test on, drawn by the seed.
    :param stratified: take that share of every object.
    :param train_per_domain: training images of each domain; all if ``None``.
    :param validation: share of the training images that is held out and tested on
        instead of the test images.
    :param check: decode every image once before training.
    :param skip_bad: leave out and count damaged images instead of refusing them.
    :param seed: of all draws.
    :raises BadData: if the tree is not there, not complete or damaged.
    """
    tree = find_core50(Path(root), image_size)
    findings = Findings(skip_bad)
    wanted = [f"o{k}" for k in range(1, objects + 1)]
    listed = []
    for session in (f"s{k}" for k in range(1, domains + 1)):
        files = files_by_class(tree / session, findings)
        missing = [name for name in wanted if name not in files]
        if missing:
            raise BadData(
                f"{tree / session} lacks {', '.join(missing[:NAMED])}"
                f"{' and more' if len(missing) > NAMED else ''}: unpack the archive "
                "whole, or choose fewer by domains=... and objects=..."
            )
        listed.append(ImageDomain(session, {name: files[name] for name in wanted}))
    is_sample = (tree / SAMPLE_MARK).exists()
    return image_benchmark(
        listed,
        image_size=image_size,
        splitter=Splitter(test_share, stratified, train_per_domain, validation, seed),
        findings=findings,
        check=check,
        data="core50-sample" if is_sample else tree.name,
    )


def find_core50(root: Path, image_size: int) -> Path:
    """The folder with the sessions, downloaded first if it is nowhere to be found.

    :param root: the data folder, or the folder with the sessions itself.
    :param image_size: width and height of the images that are wanted.
    :raises CORe50Unavailable: if it cannot be had.
    """
    sizes = [32, 128] if image_size == 32 else [128]
    for size in sizes:
        name = ARCHIVES[size].name
        for place in (root / name, root / "core50" / name, _of_avalanche() / name):
            if (place / "s1").is_dir():
                return place
    if (root / "s1").is_dir():
        return root
    archive = ARCHIVES[sizes[0]]
    packed = root / f"{archive.name}.zip"
    try:
        fetch(archive.url, packed, archive.md5)
        unpack_zip(packed, root, archive.name)
    except (DownloadError, OSError) as error:
        raise CORe50Unavailable(
            f"CORe50 is not in {root} and could not be fetched: {error}\n"
            f"Download {archive.url} (MD5 {archive.md5}) elsewhere and put it there as "
            f"{packed}, or unpack it so that there is {root / archive.name}/s1/o1; or "
            "make a small stand-in: "
            f"python -m udil_avalanche.benchmarks.samples.core50 {root}"
        ) from error
    return root / archive.name


def _of_avalanche() -> Path:
    from avalanche.benchmarks.datasets import default_dataset_location

    return Path(default_dataset_location("core50"))


__all__ = ["ARCHIVES", "CORe50Unavailable", "find_core50", "seq_core50"]
