from .domain_tensors import DomainTensors, domain_of
from .image_files import ImageFiles
from .scenario import Domain, DomainScenario

__all__ = ["Domain", "DomainScenario", "DomainTensors", "ImageFiles", "domain_of"]
