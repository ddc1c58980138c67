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
from udil_avalanche.benchmarks.reading.splitting import Splitter
from udil_avalanche.data.domain_tensors import LastUsed
from udil_avalanche.data.image_files import ImageFiles
from udil_avalanche.data.image_listing import SUFFIXES, image_files
from udil_avalanche.data.image_reading import BadImage, read_image
from udil_avalanche.data.natural_order import natural, natural_key
from udil_avalanche.data.scenario import DomainScenario

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


def subfolders(folder: Path) -> list[str]:
    """List the names of the folders in a folder, in natural order.

    :param folder: where to look; hidden folders are left out.
    :return: the names; none if there is no such folder.
    :raises BadData: if one is a link to the folder itself, or to one above it, or
        leads nowhere.
    """
    for path in folder.glob("[!.]*"):
        if path.is_symlink() and not path.exists():
            raise BadData(f"{path}: a link that leads nowhere; mend or remove it")
    found = list(folder.glob("[!.]*/"))
    above = {folder.resolve(), *folder.resolve().parents}
    for path in found:
        if path.resolve() in above:
            raise BadData(f"{path}: a link to a folder that it is in; remove it")
    return natural(path.name for path in found)


def note_loose_images(folder: Path, place: str, findings: Findings) -> None:
    """Note the images that are directly in a folder where only folders belong.

    :param folder: where to look.
    :param place: the folders that belong there, for messages.
    :param findings: where to note the images.
    """
    for path in sorted(folder.glob("[!.]*"), key=lambda path: natural_key(path.name)):
        if path.suffix.lower() in SUFFIXES and not path.is_dir():
            findings.add(f"{path}: an image beside the {place} folders")


def labelled_files(folder: Path, findings: Findings) -> list[LabelledFile]:
    """List the images in the class folders of a domain, class by class.

    :param folder: the domain's folder.
    :param findings: where to note class folders without images, and images without a
        class.
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
    note_loose_images(folder, "class", findings)
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
    return assemble(
        image_samples(domains, image_size, findings, verify_images, features),
        sort_classes=natural,
        splitter=splitter,
        findings=findings,
        data=data,
    )


def image_samples(
    domains: Sequence[ImageDomain],
    image_size: int,
    findings: Findings,
    verify_images: bool = True,
    features: FrozenFeatures | None = None,
) -> list[DomainSamples]:
    """The samples of domains of image files.

    :param domains: the domains.
    :param image_size: width and height to scale images to.
    :param findings: where to note damaged images.
    :param verify_images: decode every image now.
    :param features: take these features of the images instead of the images.
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
    return [
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
