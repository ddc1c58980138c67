"""Domains as tensors or image files, and how Avalanche sees them."""

from udil_avalanche.data.domain_tensors import DomainTensors, domain_of
from udil_avalanche.data.image_files import ImageFiles
from udil_avalanche.data.scenario import Domain, DomainScenario

__all__ = ["Domain", "DomainScenario", "DomainTensors", "ImageFiles", "domain_of"]
