"""The public names: all there, loaded when they are used."""

import subprocess
import sys

import udil_avalanche


def test_every_public_name_can_be_imported_and_is_documented() -> None:
    assert {"UDIL", "BalancedReplayPlugin", "hd_balls"} <= set(udil_avalanche.__all__)
    for name in udil_avalanche.__all__:
        value = getattr(udil_avalanche, name)
        assert name in dir(udil_avalanche)
        if callable(value):
            assert value.__doc__, name


def test_all_plugins_are_public() -> None:
    from udil_avalanche import plugins

    public = set(udil_avalanche.__all__)
    assert {name for name in plugins.__all__ if name.endswith("Plugin")} <= public


def test_the_package_alone_loads_neither_torch_nor_avalanche() -> None:
    code = "import udil_avalanche, sys; print({'torch', 'avalanche'} & {*sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
