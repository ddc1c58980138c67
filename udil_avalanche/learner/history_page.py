"""The history of a model as an HTML page that needs no other file."""

from udil_avalanche import formatting
from udil_avalanche.evaluation.pages import page_environment
from udil_avalanche.learner import history as versions
from udil_avalanche.learner import history_pictures as pictures
from udil_avalanche.learner.history import History


def history_page(history: History, title: str) -> str:
    """The whole page.

    :param history: the versions.
    :param title: what the model is called.
    """
    environment = page_environment("udil_avalanche.learner")
    return environment.get_template("own/history.html").render(
        history=history,
        title=title,
        record=history.in_use,
        versions=versions,
        formatting=formatting,
        accuracy_picture=pictures.accuracy_picture(history),
        lineage_picture=pictures.lineage_picture(history),
        divergence_picture=pictures.divergence_picture(history),
        omega_picture=pictures.omega_picture(history),
    )
