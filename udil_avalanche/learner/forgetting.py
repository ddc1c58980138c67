"""Removing the samples of a domain from every version of a model."""

from dataclasses import replace

from udil_avalanche.errors import ModelError
from udil_avalanche.learner.domain_removal import without_domain
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.runs.state.lock import locked


def forget(folder: ModelFolder, name: str) -> list[int]:
    """Remove every stored sample of a domain, from memory and reserve of all versions,
    and from an update that was interrupted. The weights stay as they are. Interrupted,
    it is finished by calling it again.

    :param folder: the model's folder.
    :param name: the domain's name.
    :return: the versions that had samples of it.
    :raises ModelError: if no version has learned such a domain.
    """
    folder.require()
    with locked(folder.path):
        records = folder.records()
        if not any(name in [*each.names, *each.forgotten] for each in records):
            known = sorted({known for each in records for known in each.names})
            raise ModelError(
                f"{folder.path} has no domain {name}: it has {', '.join(known)}"
            )
        folder.drop_update()
        changed = []
        for record in records:
            if name in record.names:
                left = without_domain(folder.version(record.number), name)
                forgotten = [*record.forgotten, name]
                noted = replace(left.record, forgotten=forgotten)
                folder.write(replace(left, record=noted))
                changed.append(record.number)
        folder.remove_unused_tensors()
    return changed
