"""The accuracy matrix of a run, the paper's metrics from it, and logged loss terms.

:mod:`~udil_avalanche.evaluation.formulas` needs only NumPy, so that reports can be made
from stored matrices without loading PyTorch.
"""
