"""The pictures of README and documents: ``python -m examples.pictures``.

Pictures of results come from the run folders in ``results`` and take seconds. Those of
the tutorial come from its own commands, which are run again in a folder of their own;
what they print replaces what the page shows.
"""
