"""The run folders that the tests of the report make, for its command as well."""

from tests.report.conftest import all_methods, make_run, write_run

__all__ = ["all_methods", "make_run", "write_run"]
