"""New domains, from files and from arrays in memory."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from udil_avalanche.benchmarks.arrays import array_files, array_samples
from udil_avalanche.benchmarks.features import FrozenFeatures
from udil_avalanche.benchmarks.folders import PARTS, image_domain, image_domains
from udil_avalanche.benchmarks.reading.assemble import DomainSamples
from udil_avalanche.benchmarks.reading.bad_data import BadData, Findings
from udil_avalanche.benchmarks.reading.image_tree import image_samples, subfolders
from udil_avalanche.benchmarks.reading.names import chosen_domains
from udil_avalanche.benchmarks.reading.splitting import Splitter
from udil_avalanche.data.domain_tensors import DomainTensors, LastUsed, domain_of
from udil_avalanche.data.image_files import ImageFiles
from udil_avalanche.data.image_listing import SUFFIXES
from udil_avalanche.data.natural_order import natural
from udil_avalanche.data.scenario import Domain
from udil_avalanche.learner.version import Reserve
from udil_avalanche.models.backbones import Backbone


@dataclass
class NewDomain:
    """Labelled samples of a domain that is to be learned.

    :param name: its name.
    :param train: the samples to train on.
    :param reserve: samples that are held out; may be empty.
    :param digest: tells these data from others.
    :param backbone: what has made features of images, if the samples are features.
    """

    name: str
    train: Domain
    reserve: Reserve
    digest: str
    backbone: Backbone | None = None


def kind_of(path: Path) -> str:
    """Which benchmark reads such data: ``arrays`` or ``folders``.

    :param path: a file or a folder.
    :raises BadData: if it is neither.
    """
    if path.suffix.lower() == ".npz" and path.is_file():
        return "arrays"
    if not path.is_dir():
        raise BadData(
            f"--data {path}: there is no such folder or .npz file"
            if not path.exists()
            else f"--data {path}: expected a .npz file or a folder"
        )
    return "arrays" if array_files(path) else "folders"


def read_samples(
    path: Path,
    *,
    image_size: int = 128,
    order: str | None = None,
    verify_images: bool = True,
    skip_invalid: bool = False,
    features: FrozenFeatures | None = None,
) -> list[DomainSamples]:
    """The labelled samples of every domain in a file or a folder: one domain
    (``<class>/<image>`` or a ``.npz`` file), or a root with several.

    :param path: the file or the folder.
    :param image_size: width and height to scale images to.
    :param order: names of the domains to read, separated by commas; all if ``None``.
    :param verify_images: decode every image now.
    :param skip_invalid: leave out invalid samples instead of refusing the data.
    :param features: take these features of images instead of the images.
    :raises BadData: if they cannot be learned from.
    """
    findings = Findings(skip_invalid)
    if kind_of(path) == "arrays":
        files = {path.stem: path} if path.is_file() else array_files(path)
        chosen = chosen_domains(list(files), order, 0, path)
        samples = array_samples([files[name] for name in chosen], findings)
    else:
        if _is_one_domain(path):
            domains = [image_domain(path, findings)]
            chosen_domains([path.name], order, 0, path)
        else:
            domains = image_domains(path, findings, order=order)
        samples = image_samples(domains, image_size, findings, verify_images, features)
    for domain in samples:
        domain.leave_out_untrained_classes(findings)
    findings.settle()
    return samples


def samples_of_arrays(
    inputs: Tensor, labels: Sequence[Any], name: str
) -> DomainSamples:
    """Samples that are in memory already.

    :param inputs: one per row; 8-bit, or 32-bit floats.
    :param labels: the class of each.
    :param name: the domain's name.
    """
    return DomainSamples(
        name=name,
        classes=np.asarray(labels),
        usable=np.ones(len(inputs), np.bool_),
        n_test=None,
        take=partial(_rows, inputs),
    )


def class_names(samples: Sequence[DomainSamples]) -> list[str]:
    """The names of all classes, in their natural order.

    :param samples: the samples of all domains.
    """
    found = {str(c) for each in samples for c in each.classes[each.usable].tolist()}
    return natural(found)


def new_domain(
    samples: DomainSamples,
    classes: Sequence[str],
    *,
    reserve: int,
    share: float = 0.2,
    stratified: bool = False,
    seed: int = 0,
    backbone: Backbone | None = None,
) -> NewDomain:
    """A domain to learn: its labels by the model's classes, and its reserve held out.

    A domain that comes with test samples has its reserve drawn from these. How a domain
    is divided depends on its name, its samples and the seed, but not on what was
    learned before it.

    :param samples: the samples.
    :param classes: the names of the model's classes.
    :param reserve: how many samples to hold out at most; 0 for none.
    :param share: the largest share of the samples to hold out.
    :param stratified: hold out the same share of every class.
    :param seed: seed of the draws.
    :param backbone: what has made features of images, if the samples are features.
    :raises BadData: if a class is unknown or there are too few samples.
    """
    position = {name: k for k, name in enumerate(classes)}
    names = [str(each) for each in samples.classes[samples.usable].tolist()]
    unknown = natural(set(names) - position.keys())
    if unknown:
        raise BadData(
            f"{samples.name}: the model does not know the class "
            f"{' and '.join(unknown)}; it knows {', '.join(classes)}. Add outputs for "
            "new classes by grow=true"
        )
    positions = torch.from_numpy(np.flatnonzero(samples.usable))
    labels = torch.tensor([position[name] for name in names], dtype=torch.int64)
    is_test = torch.from_numpy(samples.is_test)[positions]
    drawn_by = _seed(samples.name, seed)
    train, held_out = torch.arange(len(labels)), torch.zeros(0, dtype=torch.int64)
    if samples.n_test is not None:
        train, offered = (~is_test).nonzero().flatten(), is_test.nonzero().flatten()
        generator = torch.Generator().manual_seed(drawn_by)
        order = torch.randperm(len(offered), generator=generator)
        held_out = offered[order[:reserve].sort().values]
    elif min(reserve, int(share * len(labels))) > 0:
        of_all = min(share, reserve / len(labels))
        train, held_out = Splitter(of_all, stratified, seed=drawn_by).split(
            samples.name, labels
        )
    if len(train) < 2:
        raise BadData(
            f"the domain {samples.name} has {len(train)} samples to train on: it needs "
            "at least 2"
        )
    kept = samples.take(positions[held_out], labels[held_out], LastUsed())
    taken = samples.take(positions[train], labels[train], LastUsed())
    return NewDomain(
        samples.name,
        taken,
        Reserve(_inputs(kept), labels[held_out]),
        _digest(taken, names, of_images=backbone is not None),
        backbone,
    )


def renamed(samples: DomainSamples, name: str | None) -> DomainSamples:
    """The samples under another name.

    :param samples: the samples.
    :param name: the name; ``None`` keeps the one that they have.
    """
    return samples if name is None else replace(samples, name=name)


def all_inputs(samples: DomainSamples) -> Tensor:
    """The inputs of all usable samples of a domain.

    :param samples: the samples.
    """
    positions = torch.from_numpy(np.flatnonzero(samples.usable))
    labels = torch.zeros(len(positions), dtype=torch.int64)
    return _inputs(samples.take(positions, labels, LastUsed()))


def _seed(name: str, seed: int) -> int:
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def _rows(inputs: Tensor, rows: Tensor, labels: Tensor, _: LastUsed) -> DomainTensors:
    return domain_of(inputs[rows], labels)


def _inputs(domain: Domain) -> Tensor:
    """All inputs of a domain, as a memory stores them: 8-bit images as such."""
    if isinstance(domain, DomainTensors):
        return domain.inputs
    assert isinstance(domain, ImageFiles)
    if len(domain) == 0:
        return torch.zeros(0, *domain.shape, dtype=torch.uint8)
    return domain.batch(torch.arange(len(domain)))[0]


def _digest(domain: Domain, names: Sequence[str], of_images: bool) -> str:
    """Tells data from others: arrays by their numbers, features by the images that they
    are of, image files by their paths, sizes and times, so that they need not all be
    read."""
    digest = hashlib.sha256(repr(list(names)).encode())
    if isinstance(domain, DomainTensors) and of_images:
        digest.update(domain.content.encode())
    elif isinstance(domain, ImageFiles):
        for file in domain.files:
            found = Path(file).stat()
            digest.update(f"{file} {found.st_size} {found.st_mtime_ns}\n".encode())
    else:
        inputs = _inputs(domain)
        digest.update(f"{inputs.dtype} {tuple(inputs.shape)}".encode())
        digest.update(inputs.contiguous().numpy().tobytes())
    return digest.hexdigest()


def _is_one_domain(folder: Path) -> bool:
    """Whether a folder has classes with images rather than domains with classes."""
    below = subfolders(folder)
    if set(below) == set(PARTS):
        return _is_one_domain(folder / "train")
    return any(
        file.suffix.lower() in SUFFIXES and file.is_file()
        for name in below
        for file in (folder / name).iterdir()
    )
