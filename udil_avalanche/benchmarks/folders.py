"""Image folders of one's own as domains."""

from pathlib import Path

from udil_avalanche.benchmarks.reading.bad_data import BadData, Findings
from udil_avalanche.benchmarks.reading.image_tree import (
    FilesByClass,
    ImageDomain,
    files_by_class,
    image_benchmark,
    subfolders,
)
from udil_avalanche.benchmarks.reading.names import chosen_domains, natural
from udil_avalanche.benchmarks.reading.splitting import Splitter
from udil_avalanche.data.scenario import DomainScenario

PARTS = ["test", "train"]


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
    check: bool = True,
    skip_bad: bool = False,
    seed: int = 0,
) -> DomainScenario:
    """Domains that lie in folders: ``root/<domain>/<class>/<image>``, as PACS,
    Office-Home and DomainNet unpack.

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
    :param validation: share of the training images that is held out and tested on
        instead of the test images.
    :param check: decode every image once before training.
    :param skip_bad: leave out and count what is bad instead of refusing it.
    :param seed: of all draws.
    :raises BadData: if the folder is not laid out like this, or has faults.
    """
    root = Path(root)
    findings = Findings(skip_bad)
    found = subfolders(root)
    if not found:
        raise BadData(
            f"{root} has no folders: lay the images out as "
            f"{root}/<domain>/<class>/<image> and give it by --data"
        )
    if found == PARTS:
        names = chosen_domains(subfolders(root / "train"), order, domains, root)
        listed = [
            ImageDomain(
                name,
                files_by_class(root / "train" / name, findings),
                files_by_class(root / "test" / name, findings),
            )
            for name in names
        ]
    else:
        names = chosen_domains(found, order, domains, root)
        listed = [_domain(root, name, findings) for name in names]
    for domain in listed:
        if not domain.files:
            raise BadData(
                f"{root}: the domain {domain.name} has no classes with images; the "
                f"layout is {root}/<domain>/<class>/<image>"
            )
    return image_benchmark(
        listed,
        image_size=image_size,
        splitter=Splitter(test_share, stratified, train_per_domain, validation, seed),
        findings=findings,
        check=check,
        data=f"folders:{root.resolve().name}",
    )


def _domain(root: Path, name: str, findings: Findings) -> ImageDomain:
    folder = root / name
    lists = [root / f"{name}_{part}.txt" for part in ("train", "test")]
    if all(path.is_file() for path in lists):
        train, test = (_listed(root, path, findings) for path in lists)
        return ImageDomain(name, train, test)
    if subfolders(folder) == PARTS:
        return ImageDomain(
            name,
            files_by_class(folder / "train", findings),
            files_by_class(folder / "test", findings),
        )
    return ImageDomain(name, files_by_class(folder, findings))


def _listed(root: Path, path: Path, findings: Findings) -> FilesByClass:
    """The files of a list with lines ``<domain>/<class>/<image> <label>``."""
    found: FilesByClass = {}
    for line in path.read_text().splitlines():
        name = line.strip()
        if not name:
            continue
        file = root / _without_label(name)
        if file.is_file():
            found.setdefault(file.parent.name, []).append(str(file))
        else:
            findings.add(f"{path}: lists {name}, which is not there")
    return {name: found[name] for name in natural(found)}


def _without_label(line: str) -> str:
    name, space, label = line.rpartition(" ")
    return name if space and label.isdecimal() else line


__all__ = ["folders"]
