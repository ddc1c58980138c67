"""Methods and benchmarks: their settings, and how they are built."""
