"""How much to measure."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Scale:
    """The sizes of all measurements; those of ``make bench`` by default."""

    root: str | Path = "data"
    """the folder with MNIST"""
    steps: int = 94
    """steps of a measured domain: 12,000 images, as in UDIL's quick configuration"""
    domains: tuple[int, ...] = (2, 5, 10, 20)
    """the domains t in which UDIL's step is measured"""
    t: int = 10
    """the domain in which methods are compared"""
    images: int = 12_000
    """images of a domain on our data path"""
    slow_images: int = 2_000
    """images on Avalanche's data path"""
    test_domains: int = 5
    """domains of an evaluation"""
    frames: int = 40
    """image files of each of twenty classes"""
    pictures: int = 10_000
    """pictures of PACS, if it is there"""
    repeats: int = 11
    """turns of each comparison that does not alternate step by step"""
    memory_domains: int = 20
    """domains of the run whose memory is measured"""
    streams: tuple[tuple[str, int], ...] = (
        *(("ER", 300), ("ER", 1000)),
        *(("UDIL", 300), ("UDIL", 1000)),
    )
    """long streams: how they are learned, and their number of domains"""


QUICK = Scale(
    steps=3,
    domains=(2, 3),
    t=2,
    images=256,
    slow_images=128,
    test_domains=1,
    frames=2,
    pictures=16,
    repeats=1,
    memory_domains=1,
    streams=(("ER", 5),),
)
"""Just enough to see that every measurement works."""


__all__ = ["QUICK", "Scale"]
