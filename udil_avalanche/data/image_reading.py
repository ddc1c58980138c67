"""Reading an image file. Loads neither torch nor Avalanche."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

DEEP_MODES = ("I", "F")
"""The first letters of Pillow's modes with more than 8 bits per channel."""

BITS_PER_SAMPLE = 258
"""The TIFF tag with the bits of each channel."""

ORIENTATION = 0x0112
"""The EXIF tag that says how the camera was held."""


class BadImage(ValueError):
    """A file that is not a complete 8-bit image; the message names it."""


def read_image(path: str | Path, size: int) -> NDArray[np.uint8]:
    """Decode an image file.

    :param path: the file, in any format that Pillow reads.
    :param size: width and height to scale it to; an image with other proportions is
        stretched.
    :return: ``size`` x ``size`` x 3: grey images get three equal channels.
    :raises BadImage: if it cannot be decoded completely, or has more than 8 bits per
        channel, which Pillow would truncate.
    """
    # Opening a pipe would wait for somebody to write to it.
    if os.path.exists(path) and not os.path.isfile(path):
        raise BadImage(f"{path}: not a regular file")
    try:
        with Image.open(path) as image:
            if _is_deep(image):
                raise BadImage(
                    f"{path}: more than 8 bits per channel; save it as an 8-bit image"
                )
            # A JPEG can be decoded at a half, a quarter or an eighth of its size.
            image.draft("RGB", (2 * size, 2 * size))
            turned = image.format == "JPEG" and image.getexif().get(ORIENTATION, 1) != 1
            upright = ImageOps.exif_transpose(image) if turned else image
            pixels = upright.convert("RGB")
    except BadImage:
        raise
    except Exception as error:  # Pillow's decoders raise errors of any kind.
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise BadImage(f"{path}: not a whole image ({reason})") from error
    if pixels.size != (size, size):
        pixels = pixels.resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(pixels)


def _is_deep(image: Image.Image) -> bool:
    """Whether it has more than 8 bits per channel. Pillow has no mode for colours of
    16 bits: it reads them as 8, and only its decoder's arguments tell."""
    bits = getattr(image, "tag_v2", {}).get(BITS_PER_SAMPLE, 8)
    if image.mode.startswith(DEEP_MODES) or np.max(bits) > 8:
        return True
    for codec, *_, arguments in getattr(image, "tile", []):
        raw_mode, *rest = arguments if isinstance(arguments, tuple) else (arguments,)
        if ";16" in str(raw_mode) or (codec.startswith("ppm") and rest[-1] > 255):
            return True
    return False
