"""What each benchmark has to set, besides what every run has."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from udil_avalanche.settings.run import RunSettings, number


@dataclass
class HDBallsSettings(RunSettings):
    """High-dimensional Gaussian balls, two classes: half of each ball."""

    dimensions: int = number(100, at_least=2)
    """dimensions of the space"""
    sigma: float = number(0.2, above=0)
    """standard deviation of a ball in every dimension"""
    test_per_domain: int = number(2000, at_least=1)
    """test samples of each domain"""
    network: Literal["shallow", "cida"] = "shallow"
    """two hidden layers, or the eight layers of CIDA's circle"""


@dataclass
class PermutedMnistSettings(RunSettings):
    """MNIST, its pixels in another order in every domain."""


@dataclass
class RotatedMnistSettings(RunSettings):
    """MNIST, domain t turned by an angle from [9(t-1), 9t) degrees."""

    per_image_angles: bool = False
    """draw an angle for every image instead of one for the whole domain"""


@dataclass
class ImageSettings(RunSettings):
    """What the benchmarks of image files share."""

    data_is_the_task: ClassVar[bool] = True

    eval_batch_size: int = number(100, at_least=1)
    """samples in a batch of the evaluation"""
    network: str = "resnet18"
    """name of a classification model of torchvision"""
    weights: str | None = None
    """file with weights for the network to start from, .pth or .safetensors; null:
    random ones"""
    image_size: int = number(128, at_least=8, at_most=1024)
    """width and height that images are scaled to"""
    normalisation: str = "imagenet"
    """imagenet, none, or mean,mean,mean/std,std,std of the channels in [0, 1]"""
    flip: bool = True
    """mirror half of the images of every training batch, chosen at random"""
    test_share: float = number(0.2, above=0, below=1)
    """share of each domain that is held out for testing, where the data are not split
    already"""
    stratified: bool = False
    """hold the same share out of every class instead of out of the whole domain"""
    workers: int = number(2, at_least=0)
    """processes that decode images; 0: the training process does it"""
    check: bool = True
    """decode every image once before training, so that damaged ones are named then"""
    skip_bad: bool = False
    """leave damaged images, empty classes and test samples of unknown classes out, and
    count them, instead of refusing them"""


@dataclass
class SeqCORe50Settings(ImageSettings):
    """CORe50: 50 objects, its 11 sessions as domains."""

    memory: int = number(500, at_least=0)
    """samples kept of all past domains together"""
    domains: int = number(11, at_least=1, at_most=11)
    """number of domains, sessions 1 to this"""
    objects: int = number(50, at_least=2, at_most=50)
    """number of classes, objects 1 to this"""


@dataclass
class FoldersSettings(ImageSettings):
    """Images of your own: DATA/<domain>/<class>/*.jpg, *.png, ..."""

    domains: int = number(0, at_least=0)
    """number of domains, the first ones in their order; 0: all"""
    order: str | None = None
    """names of the domains, in the order to learn them, separated by commas; null: all,
    in natural order"""


@dataclass
class ArraysSettings(RunSettings):
    """Arrays of your own: one DATA/<domain>.npz for each domain, with x and y."""

    data_is_the_task: ClassVar[bool] = True

    domains: int = number(0, at_least=0)
    """number of domains, the first ones in their order; 0: all"""
    order: str | None = None
    """names of the domains, in the order to learn them, separated by commas; null: all,
    in natural order"""
    test_share: float = number(0.2, above=0, below=1)
    """share of each domain that is held out for testing, where a file has no x_test and
    y_test"""
    stratified: bool = False
    """hold the same share out of every class instead of out of the whole domain"""
    skip_bad: bool = False
    """leave rows with numbers that are not finite and test samples of unknown classes
    out, and count them, instead of refusing them"""


__all__ = [
    "ArraysSettings",
    "FoldersSettings",
    "HDBallsSettings",
    "ImageSettings",
    "PermutedMnistSettings",
    "RotatedMnistSettings",
    "SeqCORe50Settings",
]
