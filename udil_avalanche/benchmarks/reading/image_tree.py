"""From folders of images to a benchmark: listing, checking and splitting them."""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import track

from udil_avalanche.benchmarks.reading.bad_data import BadData, Findings
from udil_avalanche.benchmarks.reading.names import natural, natural_key
from udil_avalanche.benchmarks.reading.splitting import Splitter
from udil_avalanche.data.image_files import BadImage, ImageFiles, read_image
from udil_avalanche.data.scenario import DomainScenario

SUFFIXES = (
    *(".bmp", ".gif", ".jpeg", ".jpg", ".pgm"),
    *(".png", ".ppm", ".tif", ".tiff", ".webp"),
)
"""Files with other endings are not looked at."""

FilesByClass = dict[str, list[str]]


@dataclass
class ImageDomain:
    """The files of one domain."""

    name: str
    files: FilesByClass
    """To be split, or those to train on."""
    test_files: FilesByClass | None = field(default=None)
    """Those to test on, if the data are split already."""


def image_files(folder: Path) -> list[str]:
    """The images in a folder and the folders in it, in natural order.

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
    """The names of the folders in a folder, in natural order; none if it is not there.

    :param folder: where to look; hidden folders are left out.
    """
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return natural(
            entry.name
            for entry in entries
            if entry.is_dir() and not entry.name.startswith(".")
        )


def files_by_class(folder: Path, findings: Findings) -> FilesByClass:
    """The images in each of the class folders of a domain.

    :param folder: the domain's folder.
    :param findings: gets to know of class folders without images.
    """
    found: FilesByClass = {}
    for name in subfolders(folder):
        files = image_files(folder / name)
        if files:
            found[name] = files
        else:
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
    check: bool,
    data: str,
) -> DomainScenario:
    """The benchmark that these files make.

    :param domains: the domains in the order to learn them.
    :param image_size: width and height to scale images to.
    :param splitter: says what to test on.
    :param findings: what is wrong so far; nothing of it is built on.
    :param check: decode every image now.
    :param data: what the data are.
    :raises BadData: if they cannot be learned from.
    """
    if check:
        _leave_out_damaged(domains, image_size, findings)
    for domain in domains:
        _refuse_unknown_test_classes(domain, findings)
    skipped = findings.settle()
    classes = natural({name for domain in domains for name in domain.files})
    if len(classes) < 2:
        raise BadData(
            f"there is nothing to tell apart: the only class is {', '.join(classes)}"
        )

    label = {name: k for k, name in enumerate(classes)}
    train, test = [], []
    for domain in domains:
        ready = domain.test_files or {}
        pairs = [*_pairs(domain.files), *_pairs(ready)]
        labels = torch.tensor([label[name] for name, _ in pairs], dtype=torch.int64)
        is_test = None
        if domain.test_files is not None:
            is_test = torch.zeros(len(pairs), dtype=torch.bool)
            is_test[sum(map(len, domain.files.values())) :] = True
        everything = ImageFiles([file for _, file in pairs], labels, image_size)
        split = splitter.split(domain.name, labels, is_test)
        train.append(everything.subset(split.train))
        test.append(everything.subset(split.test))
    return DomainScenario(
        train=train,
        test=test,
        n_classes=len(classes),
        data=data,
        details={
            "domain_names": [domain.name for domain in domains],
            "class_names": classes,
            "skipped": skipped,
        },
    )


def _pairs(files: FilesByClass) -> Iterator[tuple[str, str]]:
    return ((name, file) for name, members in files.items() for file in members)


def _refuse_unknown_test_classes(domain: ImageDomain, findings: Findings) -> None:
    for name in list(domain.test_files or {}):
        assert domain.test_files is not None
        if name not in domain.files:
            files = domain.test_files.pop(name)
            findings.add(
                f"{Path(files[0]).parent}: a class to test on that {domain.name} has "
                f"no training images of ({len(files)} images)"
            )


def _leave_out_damaged(
    domains: Sequence[ImageDomain], image_size: int, findings: Findings
) -> None:
    parts = [
        files
        for domain in domains
        for files in (domain.files, domain.test_files)
        if files is not None
    ]
    everything = [file for files in parts for _, file in _pairs(files)]
    damaged = set()
    for file, fault in zip(everything, _faults(everything, image_size), strict=True):
        if fault is not None:
            findings.add(fault)
            damaged.add(file)
    if not damaged:
        return
    for files in parts:
        for name, members in list(files.items()):
            files[name] = [file for file in members if file not in damaged]
            if not files[name]:
                del files[name]


def _faults(files: Sequence[str], image_size: int) -> Iterable[str | None]:
    """What is wrong with each file. Pillow decodes without Python's global lock, so
    that threads do."""

    def fault(file: str) -> str | None:
        try:
            read_image(file, image_size)
        except BadImage as error:
            return str(error)
        return None

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        yield from track(
            pool.map(fault, files),
            total=len(files),
            description="checking images",
            console=Console(stderr=True),
            transient=True,
            disable=len(files) < 1000,
        )


__all__ = [
    "FilesByClass",
    "ImageDomain",
    "files_by_class",
    "image_benchmark",
    "image_files",
    "subfolders",
]
