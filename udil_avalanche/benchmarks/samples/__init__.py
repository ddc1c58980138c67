"""Small data sets to try the benchmarks of image files with."""
