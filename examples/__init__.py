"""Small data sets for trying out the benchmarks of image files: ``python -m
examples.core50_stand_in`` and ``python -m examples.fashion_shops``."""
