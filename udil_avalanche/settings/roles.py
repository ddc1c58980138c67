"""What some settings mean to those who compare runs."""

FIRST_SEED_FOR_CHOOSING = 100
"""Seeds from here on are for choosing settings and are never reported."""

DATA_SETTINGS = (
    "domains",
    "test_per_domain",
    "dimensions",
    "sigma",
    "per_image_angles",
    "objects",
    "order",
    "test_share",
    "stratified",
    "skip_bad",
)
"""Settings that change what is to be learned rather than how. How many of the training
samples are used is how: the test is the same."""

OTHER_DATA = ("mnist-5000", "core50-sample", "folders:", "arrays:")
"""How the names of data begin that are not those of the benchmark in the paper."""

__all__ = ["DATA_SETTINGS", "FIRST_SEED_FOR_CHOOSING", "OTHER_DATA"]
