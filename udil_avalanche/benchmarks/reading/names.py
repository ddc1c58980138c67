"""Which domains to learn, by their names."""

from collections.abc import Sequence

from udil_avalanche.benchmarks.reading.bad_data import BadData
from udil_avalanche.data.natural_order import natural


def chosen_domains(
    found: Sequence[str], order: str | None, domains: int, where: object
) -> list[str]:
    """Choose the domains to learn, and their order.

    :param found: the names of all domains.
    :param order: names separated by commas; all in natural order if ``None``.
    :param domains: how many of them, from the first on; 0 for all.
    :param where: where they were found, for messages.
    :raises BadData: if a name is unknown or given twice, or there are too few domains.
    """
    names = natural(found)
    if order is not None:
        wanted = [name.strip() for name in order.split(",") if name.strip()]
        if not wanted:
            raise BadData(
                f"order={order}: it names no domain; {where} has {', '.join(names)}"
            )
        unknown = [name for name in wanted if name not in names]
        if unknown or len(set(wanted)) < len(wanted):
            problem = (
                f"there is no {unknown[0]}" if unknown else "a name is given twice"
            )
            raise BadData(f"order={order}: {problem}; {where} has {', '.join(names)}")
        names = wanted
    if domains > len(names):
        raise BadData(
            f"domains={domains} is more than the {len(names)} domains of {where}: "
            f"{', '.join(names)}"
        )
    return names[:domains] if domains else names
