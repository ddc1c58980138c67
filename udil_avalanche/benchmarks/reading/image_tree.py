"""From folders of images to a benchmark: listing and checking them."""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from torch import Tensor

from udil_avalanche.benchmarks.features import FrozenFeatures
from udil_avalanche.benchmarks.reading.assemble import DomainSamples, assemble
from udil_avalanche.benchmarks.reading.bad_data import BadData, Findings
from udil_avalanche.benchmarks.reading.names import natural, natural_key
from udil_avalanche.benchmarks.reading.splitting import Splitter
from udil_avalanche.data.domain_tensors import LastUsed
from udil_avalanche.data.image_files import BadImage, ImageFiles, read_image
from udil_avalanche.data.scenario import DomainScenario

SUFFIXES = (
    *(".bmp", ".gif", ".jpeg", ".jpg", ".pgm"),
    *(".png", ".ppm", ".tif", ".tiff", ".webp"),
)
"""Files with other endings are ignored."""

LabelledFile = tuple[str, str]
"""The class of an image and its file."""


@dataclass
class ImageDomain:
    """The files of one domain."""

    name: str
    files: list[LabelledFile]
    """To be split, or those to train on."""
    test_files: list[LabelledFile] | None = None
    """Those to test on, if the data are split already."""


def image_files(folder: Path) -> list[str]:
    """List the images in a folder and its subfolders, in natural order.

    :param folder: where to look; hidden files are left out.
    """
    found: list[str] = []
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [
            os.path.join(path, name)
            for name in files
            if os.path.splitext(name)[1].lower() in SUFFIXES
            and not name.startswith(".")
        ]
    return sorted(found, key=natural_key)


def subfolders(folder: Path) -> list[str]:
    """List the names of the folders in a folder, in natural order.

    :param folder: where to look; hidden folders are left out.
    :return: the names; none if there is no such folder.
    """
    return natural(path.name for path in folder.glob("[!.]*/"))


def labelled_files(folder: Path, findings: Findings) -> list[LabelledFile]:
    """List the images in the class folders of a domain, class by class.

    :param folder: the domain's folder.
    :param findings: where to note class folders without images.
    """
    found: list[LabelledFile] = []
    for name in subfolders(folder):
        files = image_files(folder / name)
        found += [(name, file) for file in files]
        if not files:
            findings.add(f"{folder / name}: a class without images")
    if not found and image_files(folder):
        raise BadData(
            f"{folder} has images but no classes: put each image into the folder of "
            "its class, <domain>/<class>/<image>"
        )
    return found


def image_benchmark(
    domains: Sequence[ImageDomain],
    *,
    image_size: int,
    splitter: Splitter,
    findings: Findings,
    verify_images: bool,
    data: str,
    features: FrozenFeatures | None = None,
) -> DomainScenario:
    """Make a benchmark of image files.

    :param domains: the domains in the order to learn them.
    :param image_size: width and height to scale images to.
    :param splitter: chooses the images to test on.
    :param findings: the problems found so far.
    :param verify_images: decode every image now.
    :param data: what the data are.
    :param features: learn from these features of the images instead of the images.
    :raises BadData: if the files cannot be learned from.
    """
    pairs = [domain.files + (domain.test_files or []) for domain in domains]
    damaged = set()
    every_file = [file for domain in pairs for _, file in domain]
    found: Iterable[tuple[str, str]] = ()
    if features is not None:
        found = features.compute(every_file)
    elif verify_images:
        found = _faults(every_file, image_size)
    for file, fault in found:
        findings.add(fault)
        damaged.add(file)
    samples = [
        DomainSamples(
            name=domain.name,
            classes=np.array([name for name, _ in members]),
            usable=np.array([file not in damaged for _, file in members], np.bool_),
            n_test=None if domain.test_files is None else len(domain.test_files),
            take=partial(_take, [file for _, file in members], image_size)
            if features is None
            else partial(features.take, [file for _, file in members]),
        )
        for domain, members in zip(domains, pairs, strict=True)
    ]
    return assemble(
        samples,
        sort_classes=natural,
        splitter=splitter,
        findings=findings,
        data=data,
    )


def _take(
    files: list[str], size: int, positions: Tensor, labels: Tensor, _: LastUsed
) -> ImageFiles:
    return ImageFiles([files[k] for k in positions.tolist()], labels, size)


def _faults(files: Sequence[str], image_size: int) -> Iterator[tuple[str, str]]:
    """Find the damaged files, and what is wrong with each. Pillow releases Python's
    global lock while it decodes, so threads are enough."""

    def fault(file: str) -> str | None:
        try:
            read_image(file, image_size)
        except BadImage as error:
            return str(error)
        return None

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        progress = track(
            pool.map(fault, files),
            total=len(files),
            description="checking images",
            console=Console(stderr=True),
            transient=True,
            disable=len(files) < 1000,
        )
        for file, found in zip(files, progress, strict=True):
            if found is not None:
                yield file, found
