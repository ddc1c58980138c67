"""How fast everything is: ``python -m udil_avalanche.speed`` or ``make bench``."""
