"""A small stand-in for CORe50, in the same layout: ``python -m
examples.core50_stand_in ROOT``.

Fifty objects, each with its own shape, colours and texture, are photographed in eleven
sessions. A session has one coloured light from one side, one background and one camera
setting. So the domains really shift: a feature that distinguishes two objects in one
light may fail in another.
"""

import argparse
import math
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from udil_avalanche.benchmarks.core50 import ARCHIVES, SAMPLE_MARK

SESSIONS = 11
OBJECTS = 50
CLOUDS = ((1, 8), (0, math.pi), (0, 2 * math.pi))
"""Between what the frequencies, the angles and the phases of a background are drawn."""

Floats = NDArray[np.float32]


def make_core50_sample(
    root: str | Path,
    *,
    sessions: int = SESSIONS,
    objects: int = OBJECTS,
    frames: int = 10,
    size: int = 128,
    seed: int = 0,
) -> Path:
    """Draw the stand-in into ``root/core50_128x128``.

    :param root: data folder.
    :param sessions: how many of the eleven sessions.
    :param objects: how many of the fifty objects.
    :param frames: images of each object in each session.
    :param size: width and height of the images.
    :param seed: seed of all draws, those of objects and lights too.
    :return: the folder with the sessions.
    :raises FileExistsError: if that folder exists and is not a stand-in.
    """
    tree = Path(root) / ARCHIVES[128].name
    if tree.exists():
        if not (tree / SAMPLE_MARK).exists():
            raise FileExistsError(f"{tree} exists and is not a stand-in")
        shutil.rmtree(tree)
    unfinished = tree.with_name(f".{tree.name}.{os.getpid()}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    for s in range(1, sessions + 1):
        scene = _Scene(np.random.default_rng([seed, 1, s]), s, size)
        for o in range(1, objects + 1):
            folder = unfinished / f"s{s}" / f"o{o}"
            folder.mkdir(parents=True)
            thing = _Thing(np.random.default_rng([seed, 2, o]))
            poses = np.random.default_rng([seed, 3, s, o])
            for k in range(frames):
                pixels = scene.photograph(thing, poses)
                name = f"C_{s:02}_{o:02}_{k:03}.png"
                Image.fromarray(pixels).save(folder / name)
    (unfinished / SAMPLE_MARK).write_text(
        "Drawn by examples.core50_stand_in; this is not CORe50.\n"
    )
    os.replace(unfinished, tree)
    return tree


class _Thing:
    """An object: an outline and a texture in two colours."""

    def __init__(self, rng: np.random.Generator) -> None:
        waves = np.arange(2, 6)
        amplitudes = rng.uniform(0, 0.5, 4) / waves
        phases = rng.uniform(0, 2 * math.pi, 4)
        self.outline = list(zip(range(2, 6), amplitudes, phases, strict=True))
        self.colours = rng.uniform(0.05, 1, (2, 3)).astype(np.float32)
        self.stripes = rng.uniform(2, 9, 2)
        self.tilt = rng.uniform(0, math.pi, 2)
        self.checks = rng.random() < 0.5

    def draw(self, u: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Coverage (from 0 to 1) and colour at coordinates relative to the object."""
        angle, radius = np.arctan2(v, u), np.hypot(u, v)
        waves = [a * np.cos(k * angle + phase) for k, a, phase in self.outline]
        outline = 1 + sum(waves)
        cover = np.clip((outline - radius) * 12 + 0.5, 0, 1)
        first, second = (
            np.sin(f * (u * math.cos(tilt) + v * math.sin(tilt)))
            for f, tilt in zip(self.stripes, self.tilt, strict=True)
        )
        pattern = first * second if self.checks else first
        mix = np.clip(pattern * 3 + 0.5, 0, 1)[..., None]
        return cover[..., None], mix * self.colours[0] + (1 - mix) * self.colours[1]


class _Scene:
    """A session: a light, a background and a camera."""

    def __init__(self, rng: np.random.Generator, number: int, size: int) -> None:
        axis = np.linspace(-1, 1, size, dtype=np.float32)
        self.y, self.x = np.meshgrid(axis, axis, indexing="ij")
        hue = 2 * math.pi * (number * 4 % SESSIONS) / SESSIONS
        channels = np.cos(hue - 2 * math.pi * np.arange(3) / 3)
        self.light = (0.55 + 0.45 * channels) * rng.uniform(0.8, 1.3)
        self.ambient = rng.uniform(0.08, 0.2)
        self.direction = rng.uniform(0, 2 * math.pi)
        self.gamma = rng.uniform(0.7, 1.5)
        self.noise = rng.uniform(0.01, 0.05)
        self.background = self._clouds(rng)

    def _clouds(self, rng: np.random.Generator) -> Floats:
        waves = np.zeros_like(self.x)
        draws = [rng.uniform(low, high, 5) for low, high in CLOUDS]
        for f, angle, phase in zip(*draws, strict=True):
            way = self.x * math.cos(angle) + self.y * math.sin(angle)
            waves += np.sin(f * way + phase)
        mix = (0.5 + waves / 8)[..., None]
        dark, bright = rng.uniform(0, 0.6, 3), rng.uniform(0.3, 1, 3)
        return np.clip(mix * bright + (1 - mix) * dark, 0, 1)

    def photograph(self, thing: _Thing, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw the object in a random pose."""
        turn, scale = rng.normal(0, 0.35), rng.uniform(1.35, 1.9)
        dx, dy = rng.normal(0, 0.12, 2)
        cos, sin = math.cos(turn) * scale, math.sin(turn) * scale
        u = cos * (self.x - dx) - sin * (self.y - dy)
        v = sin * (self.x - dx) + cos * (self.y - dy)
        cover, colour = thing.draw(u, v)
        surface = cover * colour + (1 - cover) * self.background

        lit = self.x * math.cos(self.direction) + self.y * math.sin(self.direction)
        shade = (0.75 + 0.4 * lit)[..., None]
        seen = surface * (self.ambient + shade * self.light)
        seen = np.clip(seen, 0, 1) ** self.gamma
        seen = seen + rng.normal(0, self.noise, seen.shape)
        return (np.clip(seen, 0, 1) * 255).astype(np.uint8)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw a stand-in where the arguments say.

    :param arguments: the command line; that of the process by default.
    :return: the exit code.
    """
    parser = argparse.ArgumentParser(
        prog="python -m examples.core50_stand_in",
        description="Draw a small stand-in for CORe50, in the same layout.",
    )
    parser.add_argument("root", metavar="ROOT", help="data folder")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--objects", type=int, default=OBJECTS)
    parser.add_argument("--frames", type=int, default=10, help="of each object")
    parser.add_argument("--size", type=int, default=128, help="of the images")
    parser.add_argument("--seed", type=int, default=0)
    given = vars(parser.parse_args(arguments))
    try:
        tree = make_core50_sample(given.pop("root"), **given)
    except OSError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    n = given["sessions"] * given["objects"] * given["frames"]
    print(f"{tree}: {n} images")
    return 0


if __name__ == "__main__":
    sys.exit(main())
