"""The run folders that the tests of the report make, and the models that those of the
learner make, for their commands as well."""

from tests.learner.frozen_models import frozen_model
from tests.learner.stored_models import byte_model, float_model, image_model
from tests.report.conftest import all_methods, make_run, write_run

__all__ = [
    "all_methods",
    "byte_model",
    "float_model",
    "frozen_model",
    "image_model",
    "make_run",
    "write_run",
]
