"""Small data sets for trying out the benchmarks of image files."""
