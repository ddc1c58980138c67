"""Downloads, and MNIST from wherever it can be had."""
