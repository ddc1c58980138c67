from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.sweep.titles import Cell, Titles


def test_runs_are_told_apart_by_what_their_method_tries_there() -> None:
    tried = [
        resolve("ER", "hd_balls", options={"seed": seed, "lr": lr, "clip_norm": norm})
        for seed in (0, 1)
        for lr, norm in ((0.1, 1), (0.2, None))
    ]
    others = [
        resolve("SI", "hd_balls", options={"lr": 0.3}),
        resolve("ER", "permuted_mnist", options={"memory": 50, "lr": 0.4}),
    ]
    title = Titles([*tried, *others])
    assert [title(run) for run in [*tried[:2], *others]] == [
        "ER on hd_balls, memory 400, seed 0, lr=0.1, clip_norm=1.0",
        "ER on hd_balls, memory 400, seed 0, lr=0.2, clip_norm=null",
        "SI on hd_balls, seed 0",
        "ER on permuted_mnist, memory 50, seed 0",
    ]


def test_streams_and_variants_are_named_instead_of_their_settings() -> None:
    full, distilled, other = (
        resolve("UDIL", "hd_balls", options=options)
        for options in ({}, {"lambda_s": 0.03}, {"domains": 5, "memory": 50})
    )
    cells = {
        RunFolder.of(full).path: Cell("UDIL", "twenty balls", "default"),
        RunFolder.of(distilled).path: Cell("UDIL", "twenty balls", "with V_s"),
        RunFolder.of(other).path: Cell("UDIL", "few balls", "default"),
    }
    title = Titles([full, distilled, other], cells)
    assert [title(run) for run in (full, distilled, other)] == [
        "UDIL (default) on twenty balls, memory 400, seed 0",
        "UDIL (with V_s) on twenty balls, memory 400, seed 0",
        "UDIL (default) on few balls, memory 50, seed 0",
    ]
