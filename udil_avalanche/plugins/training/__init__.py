"""Helpers of any training: annealing, averaging, clipping, mirroring, a check of the
loss."""
