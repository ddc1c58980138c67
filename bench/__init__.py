"""How fast everything is: ``python -m bench`` or ``make bench``."""
