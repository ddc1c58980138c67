"""The engine for one machine; test_engines.py has whole sweeps."""

import traceback
from pathlib import Path

from udil_avalanche.errors import RunError
from udil_avalanche.sweep.local import error_message


def test_the_whole_message_of_a_failed_run_is_reported(tmp_path: Path) -> None:
    try:
        raise RunError("the loss is inf in step 7\nThe last state is in a folder")
    except RunError:
        printed = traceback.format_exc()
    log = tmp_path / "run.log"
    log.write_text(f"This run was started but not finished.\n{printed}")
    message = "RunError: the loss is inf in step 7 The last state is in a folder"
    assert error_message(log) == f"udil_avalanche.errors.{message}"
    log.write_text("domain 1/3: 92 %\na setting is wrong: write another\n")
    assert error_message(log) == "a setting is wrong: write another"
    assert error_message(tmp_path / "missing.log") == ""
