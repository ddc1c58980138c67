"""Your own image folders as domains."""

from pathlib import Path

from udil_avalanche.benchmarks.features import FrozenFeatures
from udil_avalanche.benchmarks.reading.bad_data import BadData, Findings
from udil_avalanche.benchmarks.reading.image_tree import (
    ImageDomain,
    LabelledFile,
    image_benchmark,
    labelled_files,
    subfolders,
)
from udil_avalanche.benchmarks.reading.names import chosen_domains, natural_key
from udil_avalanche.benchmarks.reading.splitting import Splitter
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
        domains_in(root, order, domains, findings),
        image_size=image_size,
        splitter=Splitter(test_share, stratified, train_per_domain, validation, seed),
        findings=findings,
        verify_images=verify_images,
        data=f"folders:{root.resolve().name}",
        features=features,
    )


def domains_in(
    root: Path, order: str | None, domains: int, findings: Findings
) -> list[ImageDomain]:
    """List the images of each domain, in the order to learn them.

    :param root: the folder.
    :param order: names of the domains to learn, separated by commas; all of them in
        natural order if ``None``.
    :param domains: how many of them, from the first on; 0 for all.
    :param findings: where to note problems.
    :raises BadData: if the folder has another layout.
    """
    found = subfolders(root)
    if not found:
        raise BadData(
            f"{root} has no folders: lay the images out as "
            f"{root}/<domain>/<class>/<image> and give it by --data"
        )
    split_above = set(found) == set(PARTS)
    if split_above:
        found = subfolders(root / "train")
    listed = []
    for name in chosen_domains(found, order, domains, root):
        lists = [root / f"{name}_{part}.txt" for part in PARTS]
        if not split_above and all(path.is_file() for path in lists):
            parts = [_listed(root, path, findings) for path in lists]
        else:
            places = [root / name]
            if split_above:
                places = [root / part / name for part in PARTS]
            elif set(subfolders(root / name)) == set(PARTS):
                places = [root / name / part for part in PARTS]
            parts = [labelled_files(place, findings) for place in places]
        if not parts[0]:
            raise BadData(
                f"{root}: the domain {name} has no classes with images; the layout is "
                f"{root}/<domain>/<class>/<image>"
            )
        listed.append(ImageDomain(name, *parts))
    return listed


def _listed(root: Path, path: Path, findings: Findings) -> list[LabelledFile]:
    """The files of a list with lines ``<domain>/<class>/<image> <label>``."""
    found: list[LabelledFile] = []
    for line in filter(None, map(str.strip, path.read_text().splitlines())):
        file = root / _without_label(line)
        if file.is_file():
            found.append((file.parent.name, str(file)))
        else:
            findings.add(f"{path}: lists {line}, which does not exist")
    return sorted(found, key=lambda labelled: natural_key(labelled[0]))


def _without_label(line: str) -> str:
    name, space, label = line.rpartition(" ")
    return name if space and label.isdecimal() else line
