"""Helpers of any training: annealing, clipping, mirroring, a check of the loss."""
