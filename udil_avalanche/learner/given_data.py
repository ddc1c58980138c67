"""Data as users give them: a path, arrays, tensors or a dataset."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from udil_avalanche.benchmarks.arrays import array_files, load_arrays
from udil_avalanche.benchmarks.features import FrozenFeatures
from udil_avalanche.benchmarks.reading.assemble import DomainSamples
from udil_avalanche.benchmarks.reading.bad_data import BadData
from udil_avalanche.data.image_files import ImageFiles
from udil_avalanche.data.image_listing import image_files
from udil_avalanche.learner.reading import (
    all_inputs,
    kind_of,
    read_samples,
    renamed,
    samples_of_arrays,
)
from udil_avalanche.recipes.benchmarks.images import image_size_of

Data = Any
"""A path to a ``.npz`` file, a folder of images or a root with several domains; an
array or tensor of inputs, with labels beside it; or a dataset of pairs."""


def kind_of_data(data: Data) -> str:
    """Which benchmark reads such data: ``arrays`` or ``folders``.

    :param data: the data.
    """
    return kind_of(Path(data)) if isinstance(data, (str, Path)) else "arrays"


def labelled_domains(
    data: Data,
    labels: Any,
    *,
    settings: Any,
    name: str | None,
    unnamed: str,
    order: str | None = None,
    features: FrozenFeatures | None = None,
) -> list[DomainSamples]:
    """The labelled samples of each domain in the data.

    :param data: the data.
    :param labels: the class of each input, if they are not part of the data.
    :param settings: the settings of the training.
    :param name: the domain's name; that of the file or folder if ``None``.
    :param unnamed: what to call a domain that has no name.
    :param order: names of the domains to take, separated by commas.
    :param features: take these features of images instead of the images.
    :raises BadData: if they cannot be learned from.
    """
    if not isinstance(data, (str, Path)):
        x, y = _pairs(data, labels)
        return [samples_of_arrays(as_inputs(x), y, name or unnamed)]
    found = read_samples(
        Path(data),
        **reading_settings(settings),
        order=order,
        skip_invalid=settings.skip_invalid,
        features=features,
    )
    if name is not None and len(found) > 1:
        raise BadData(
            f"{data} has {len(found)} domains, which cannot all be named {name}"
        )
    return [renamed(each, name) for each in found]


def reading_settings(settings: Any) -> dict[str, Any]:
    """The settings of :func:`~udil_avalanche.learner.reading.read_samples` that images
    have.

    :param settings: the settings of the training.
    """
    if settings.benchmark != "folders":
        return {}
    return {
        "image_size": image_size_of(settings),
        "verify_images": settings.verify_images,
    }


def has_labels(data: Data, labels: Any) -> bool:
    """Whether the data say what class each input is of.

    :param data: the data.
    :param labels: labels that were given beside them.
    """
    if labels is not None:
        return True
    if not isinstance(data, (str, Path)):
        return not _is_array(data)
    path = Path(data)
    if kind_of(path) == "arrays":
        first = path if path.is_file() else next(iter(array_files(path).values()))
        return "y" in load_arrays(first)
    # Images that are not in folders of classes have no labels.
    return not any(Path(file).parent == path for file in image_files(path))


def unlabelled_inputs(
    data: Data, settings: Any, features: FrozenFeatures | None = None
) -> Tensor:
    """Inputs without labels.

    :param data: inputs, one per row; a ``.npz`` file with ``x``; a folder of images.
    :param settings: the settings of the training.
    :param features: take these features of images instead of the images.
    :raises BadData: if they cannot be read.
    """
    if not isinstance(data, (str, Path)):
        return as_inputs(np.asarray(data))
    path = Path(data)
    if kind_of(path) == "arrays":
        files = [path] if path.is_file() else array_files(path).values()
        return as_inputs(_all_rows(files))
    files_of_images = image_files(path)
    if features is not None:
        for _, fault in features.compute(files_of_images):
            raise BadData(fault)
        return features.rows(files_of_images)
    images = ImageFiles(
        files_of_images,
        torch.zeros(len(files_of_images)).long(),
        image_size_of(settings),
    )
    return images.batch(torch.arange(len(images)))[0]


def _all_rows(files: Iterable[Path]) -> NDArray[Any]:
    """The arrays ``x`` of some files, one below the other."""
    found: list[NDArray[Any]] = []
    for file in files:
        stored = load_arrays(file)
        if "x" not in stored:
            raise BadData(f"{file}: has no array x, only {', '.join(stored)}")
        found.append(stored["x"])
        if found[-1].shape[1:] != found[0].shape[1:] or found[-1].ndim < 2:
            raise BadData(f"{file}: x has shape {found[-1].shape}, which does not fit")
    return np.concatenate(found)


def labels_of(
    domains: Sequence[DomainSamples], classes: Sequence[str]
) -> tuple[Tensor, Tensor]:
    """The inputs of some domains, all together, and their labels by position.

    :param domains: their samples.
    :param classes: the names of the classes.
    :raises BadData: if a class is not among them.
    """
    position = {name: k for k, name in enumerate(classes)}
    names = [str(c) for each in domains for c in each.classes[each.usable].tolist()]
    unknown = sorted(set(names) - position.keys())
    if unknown:
        raise BadData(f"the model does not know the class {' and '.join(unknown)}")
    inputs = torch.cat([all_inputs(each) for each in domains])
    return inputs, torch.tensor([position[name] for name in names])


def as_inputs(x: NDArray[Any]) -> Tensor:
    """Numbers as inputs of a model: 8-bit ones as such, others as 32-bit floats.

    :param x: one input per row.
    :raises BadData: if they are no numbers, or not finite.
    """
    if x.dtype.kind not in "biuf":
        raise BadData(f"the inputs hold {x.dtype}, not real numbers")
    if x.ndim < 2:
        raise BadData(f"the inputs have the shape {x.shape}: one row each is needed")
    with np.errstate(over="ignore"):
        values = x if x.dtype == np.uint8 else x.astype(np.float32)
    if not np.isfinite(values).all():
        raise BadData("the inputs hold a number that is not finite as a 32-bit float")
    return torch.from_numpy(np.ascontiguousarray(values))


def _is_array(data: Data) -> bool:
    return isinstance(data, Tensor) or hasattr(data, "__array__")


def _pairs(data: Data, labels: Any) -> tuple[NDArray[Any], Sequence[Any]]:
    """Inputs and labels, of arrays or of a dataset of pairs."""
    if labels is not None:
        x, y = np.asarray(data), np.asarray(labels)
        if y.ndim != 1 or len(x) != len(y):
            raise BadData(
                f"there are {len(x)} inputs and labels of shape {y.shape}: each input "
                "needs one"
            )
        return x, y.tolist()
    if _is_array(data):
        raise BadData("the inputs need labels: update(x, y)")
    samples = [data[position] for position in range(len(data))]
    inputs = np.stack([np.asarray(sample[0]) for sample in samples])
    return inputs, [int(sample[1]) for sample in samples]
