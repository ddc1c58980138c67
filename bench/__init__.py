"""Speed measurements: ``python -m bench`` or ``make bench``."""
