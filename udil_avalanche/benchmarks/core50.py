"""Seq-CORe50, the paper's real-world benchmark."""

from pathlib import Path
from typing import NamedTuple

from udil_avalanche.benchmarks.features import FrozenFeatures
from udil_avalanche.benchmarks.fetching.download import FetchError, fetch_and_unpack
from udil_avalanche.benchmarks.reading.bad_data import BadData, Findings
from udil_avalanche.benchmarks.reading.image_tree import (
    ImageDomain,
    image_benchmark,
    labelled_files,
)
from udil_avalanche.benchmarks.reading.splitting import Splitter
from udil_avalanche.data.scenario import DomainScenario

SAMPLE_MARK = "SAMPLE"
"""A file of this name marks a tree as the stand-in that the project draws."""

NAMED = 5
"""How many missing folders a message lists."""


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
    """CORe50 is not in the data folder and could not be downloaded."""


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
    verify_images: bool = True,
    skip_invalid: bool = False,
    seed: int = 0,
    features: FrozenFeatures | None = None,
) -> DomainScenario:
    """Seq-CORe50 (section 5.5 of the paper): the 50 objects of CORe50 are the classes,
    its 11 sessions (backgrounds and lights) the domains; a fifth of each session is for
    testing.

    The layout is that of the official archive, ``core50_128x128/s1..s11/o1..o50``; the
    folder of Avalanche's ``CORe50Dataset`` is searched too. Class k is object o(k + 1).

    ::

        benchmark = seq_core50("data", domains=3, objects=10, image_size=32)

    :param root: data folder; CORe50 is downloaded into it if it is missing.
    :param domains: sessions 1 to this.
    :param objects: objects 1 to this.
    :param image_size: width and height of the images. At 32 the archive of that size is
        read if it is there; any other size is scaled from the archive of 128.
    :param test_share: share of each session to test on, drawn at random.
    :param stratified: take that share of every object.
    :param train_per_domain: training images of each domain; all if ``None``.
    :param validation: share of the training images to hold out and test on instead of
        the test images.
    :param verify_images: decode every image once before training.
    :param skip_invalid: leave out and count damaged images instead of refusing them.
    :param seed: seed of all draws.
    :param features: learn from these features of the images instead of the images.
    :raises BadData: if the data are missing, incomplete or damaged.
    """
    tree = find_core50(Path(root), image_size)
    findings = Findings(skip_invalid)
    wanted = [f"o{k}" for k in range(1, objects + 1)]
    listed = []
    for session in (f"s{k}" for k in range(1, domains + 1)):
        files = labelled_files(tree / session, findings)
        present = {name for name, _ in files}
        missing = [name for name in wanted if name not in present]
        if missing:
            raise BadData(
                f"{tree / session} lacks {', '.join(missing[:NAMED])}"
                f"{' and more' if len(missing) > NAMED else ''}: unpack the whole "
                "archive, or choose fewer by domains=... and objects=..."
            )
        listed.append(
            ImageDomain(session, [pair for pair in files if pair[0] in wanted])
        )
    is_sample = (tree / SAMPLE_MARK).exists()
    return image_benchmark(
        listed,
        image_size=image_size,
        splitter=Splitter(test_share, stratified, train_per_domain, validation, seed),
        findings=findings,
        verify_images=verify_images,
        data="core50-sample" if is_sample else tree.name,
        features=features,
    )


def find_core50(root: Path, image_size: int) -> Path:
    """Find the folder with the sessions; download it if there is none.

    :param root: the data folder, or the folder with the sessions itself.
    :param image_size: width and height of the images that are wanted.
    :raises CORe50Unavailable: if it is not there and cannot be downloaded.
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
        fetch_and_unpack(archive.url, root, archive.name, archive.md5)
    except (FetchError, OSError) as error:
        raise CORe50Unavailable(
            f"CORe50 is not in {root} and could not be downloaded: {error}\n"
            f"Download {archive.url} (MD5 {archive.md5}) elsewhere and save it as "
            f"{packed}, or unpack it to get {root / archive.name}/s1/o1; or, in a "
            "checkout of udil_avalanche, draw a small stand-in: "
            f"python -m examples.core50_stand_in {root}"
        ) from error
    return root / archive.name


def _of_avalanche() -> Path:
    from avalanche.benchmarks.datasets import default_dataset_location

    return Path(default_dataset_location("core50"))
