"""Helpers of any training: annealing, averaging, clipping, mirroring, checks of the
loss and of what was learned."""
