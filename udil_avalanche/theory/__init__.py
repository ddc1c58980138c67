"""The bound of the paper, its terms and its coefficients; knows only torch."""
