"""Your own image folders as domains."""

from pathlib import Path

from udil_avalanche.benchmarks.features import FrozenFeatures
from udil_avalanche.benchmarks.reading.bad_data import BadData, Findings
from udil_avalanche.benchmarks.reading.image_tree import (
    ImageDomain,
    LabelledFile,
    image_benchmark,
    labelled_files,
    note_loose_images,
    subfolders,
)
from udil_avalanche.benchmarks.reading.names import chosen_domains
from udil_avalanche.benchmarks.reading.splitting import Splitter
from udil_avalanche.data.natural_order import natural_key
from udil_avalanche.data.scenario import DomainScenario

PARTS = ["train", "test"]


def folders(
    root: str | Path,
    *,
    order: str | None = None,
    domains: int = 0,
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
    """Domains in folders: ``root/<domain>/<class>/<image>``, the layout into which
    PACS, Office-Home and DomainNet unpack.

    The classes are those of all domains together, in natural order; a domain need not
    have them all. Where the data are split already, that split is used:
    ``root/<domain>/train/<class>`` and ``.../test/<class>``, or
    ``root/train/<domain>/<class>`` and ``root/test/...``, or DomainNet's lists
    ``root/<domain>_train.txt`` and ``root/<domain>_test.txt``.

    ::

        benchmark = folders("photos", image_size=64)
        model = image_model("resnet18", benchmark.n_classes, image_size=64)

    :param root: the folder.
    :param order: names of the domains to learn, separated by commas; all of them in
        natural order if ``None``.
    :param domains: how many of them, from the first on; 0 for all.
    :param image_size: width and height to scale images to.
    :param test_share: share of each domain to test on, if it is not split already.
    :param stratified: take that share of every class.
    :param train_per_domain: training images of each domain; all if ``None``.
    :param validation: share of the training images to hold out and test on instead of
        the test images.
    :param verify_images: decode every image once before training.
    :param skip_invalid: leave out and count invalid samples instead of refusing them.
    :param seed: seed of all draws.
    :param features: learn from these features of the images instead of the images.
    :raises BadData: if the folder has another layout or holds invalid samples.
    """
    root = Path(root)
    findings = Findings(skip_invalid)
    return image_benchmark(
        image_domains(root, findings, order=order, domains=domains),
        image_size=image_size,
        splitter=Splitter(test_share, stratified, train_per_domain, validation, seed),
        findings=findings,
        verify_images=verify_images,
        data=f"folders:{root.resolve().name}",
        features=features,
    )


def image_domains(
    root: Path, findings: Findings, *, order: str | None = None, domains: int = 0
) -> list[ImageDomain]:
    """The image files of every domain in a folder, see :func:`folders`.

    :param root: the folder.
    :param findings: where to note class folders without images and missing files.
    :param order: names of the domains, separated by commas; all if ``None``.
    :param domains: how many of them, from the first on; 0 for all.
    :raises BadData: if the folder has another layout.
    """
    if not root.is_dir():
        raise BadData(
            f"there is no folder {root}: lay the images out as "
            f"{root}/<domain>/<class>/<image> and give it by --data"
        )
    found = subfolders(root)
    if not found:
        raise BadData(
            f"{root} has no folders: lay the images out as "
            f"{root}/<domain>/<class>/<image> and give it by --data"
        )
    note_loose_images(root, "domain", findings)
    split_above = set(found) == set(PARTS)
    if split_above:
        found = subfolders(root / "train")
        for part in PARTS:
            note_loose_images(root / part, "domain", findings)
        for name in subfolders(root / "test"):
            if name not in found:
                findings.add(f"{root / 'test' / name}: there is no {root}/train/{name}")
    listed = []
    for name in chosen_domains(found, order, domains, root):
        lists = [root / f"{name}_{part}.txt" for part in PARTS]
        if split_above:
            parts = [labelled_files(root / part / name, findings) for part in PARTS]
            domain = ImageDomain(name, *parts)
        elif all(path.is_file() for path in lists):
            domain = ImageDomain(name, *(_listed(root, p, findings) for p in lists))
        elif any(path.is_file() for path in lists):
            raise BadData(f"{root} has one of {name}_train.txt and {name}_test.txt")
        else:
            domain = image_domain(root / name, findings)
        if not domain.files:
            raise BadData(
                f"{root}: the domain {name} has no classes with images; the layout is "
                f"{root}/<domain>/<class>/<image>"
            )
        listed.append(domain)
    return listed


def image_domain(folder: Path, findings: Findings) -> ImageDomain:
    """The image files of one domain: ``folder/<class>/<image>``, or the same below
    ``folder/train`` and ``folder/test``.

    :param folder: the domain's folder.
    :param findings: where to note class folders without images.
    """
    places = [folder]
    if set(subfolders(folder)) == set(PARTS):
        note_loose_images(folder, "train and test", findings)
        places = [folder / part for part in PARTS]
    parts = [labelled_files(place, findings) for place in places]
    return ImageDomain(folder.name, *parts)


def _listed(root: Path, path: Path, findings: Findings) -> list[LabelledFile]:
    """The files of a list with lines ``<domain>/<class>/<image> <label>``."""
    found: list[LabelledFile] = []
    try:
        lines = path.read_text().splitlines()
    except UnicodeDecodeError as error:
        raise BadData(f"{path}: not a text file ({error.reason})") from error
    for line in filter(None, map(str.strip, lines)):
        file = root / _without_label(line)
        if file.is_file():
            found.append((file.parent.name, str(file)))
        else:
            findings.add(f"{path}: lists {line}, which does not exist")
    return sorted(found, key=lambda labelled: natural_key(labelled[0]))


def _without_label(line: str) -> str:
    name, space, label = line.rpartition(" ")
    return name if space and label.isdecimal() else line
