"""The small picture of the accuracy matrix."""

import matplotlib
import numpy as np
import pytest

from udil_avalanche.evaluation.heat_map import heat_map


@pytest.mark.parametrize("domains", [1, 3, 20, 60])
def test_every_cell_has_its_accuracys_colour(domains: int) -> None:
    R = np.random.default_rng(0).uniform(0, 100, size=(domains, domains))
    R[0, -1] = np.nan
    picture = np.asarray(heat_map(R))
    assert picture.shape[0] == picture.shape[1] >= 400
    corners = picture[:: len(picture) // domains, :: len(picture) // domains]
    expected = matplotlib.colormaps["viridis"](R / 100, bytes=True)[..., :3]
    expected[0, -1] = 255
    assert np.array_equal(corners, expected)


def test_numbers_are_written_into_the_cells_of_up_to_20_domains() -> None:
    for domains, numbered in ((20, True), (21, False)):
        picture = heat_map(np.full((domains, domains), 50.0))
        assert (len(picture.getcolors()) > 1) == numbered
    blank = heat_map(np.full((2, 2), np.nan))
    assert blank.getcolors() == [(blank.width * blank.height, (255, 255, 255))]
