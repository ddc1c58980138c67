"""Puts ``configs/``, which lies beside the package in a checkout, into the wheel.

Everything else is in setup.cfg.
"""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["udil_avalanche*"]), "udil_avalanche.configs"],
    package_dir={"udil_avalanche.configs": "configs"},
)
