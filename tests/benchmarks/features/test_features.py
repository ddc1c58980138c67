"""Features of images: computed once, kept, and the same as with the network inside."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from avalanche.training.supervised import Naive
from torch import Tensor

from udil_avalanche.benchmarks import arrays, embed, folders
from udil_avalanche.benchmarks.features import (
    FeatureStore,
    FrozenFeatures,
    frozen_features,
)
from udil_avalanche.benchmarks.features.embedding import embedded
from udil_avalanche.benchmarks.reading.bad_data import BadData, BadDataWarning
from udil_avalanche.data.image_reading import read_image
from udil_avalanche.models import EncoderPredictor, mlp, with_backbone
from udil_avalanche.models.backbones import Backbone, make_backbone
from udil_avalanche.plugins import (
    BalancedReplayPlugin,
    ImageLoaderPlugin,
    TensorLoaderPlugin,
)

TREE = {"a": {"x": 11, "y": 9}, "b": {"x": 10, "y": 14}}


def backbone(seed: int = 0, size: int = 32) -> Backbone:
    torch.manual_seed(seed)
    return make_backbone("shufflenet_v2_x0_5", pretrained=False, image_size=size)


@pytest.fixture
def tree(tmp_path: Path, write_tree: Callable[..., Path]) -> Path:
    return write_tree(tmp_path / "images", TREE)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose features are computed."""
    seen: list[str] = []

    def noted(files: Any, *arguments: Any, **settings: Any) -> Any:
        seen.extend(files)
        return embedded(files, *arguments, **settings, processes=1)

    monkeypatch.setattr(frozen_features, "embedded", noted)
    return seen


def all_inputs(scenario: Any) -> Tensor:
    streams = (scenario.train_stream, scenario.test_stream)
    return torch.stack([x for s in streams for e in s for x, *_ in e.dataset])


def test_features_are_those_of_the_images(tree: Path, tmp_path: Path) -> None:
    network = backbone()
    features = FrozenFeatures(network, tmp_path / "cache")
    frozen = folders(tree, image_size=32, features=features)
    images = folders(tree, image_size=32)
    assert frozen.input_shape == (network.width,)
    torch.testing.assert_close(all_inputs(frozen), network(all_inputs(images)))
    for stream in ("train_stream", "test_stream"):
        for one, other in zip(
            getattr(frozen, stream), getattr(images, stream), strict=True
        ):
            assert [*one.dataset.targets] == [*other.dataset.targets]


@pytest.mark.parametrize("processes", [1, 2, 5])
def test_any_number_of_processes_gives_the_same(
    processes: int, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("udil_avalanche.benchmarks.features.embedding.BATCH_SIZE", 4)
    files = sorted(map(str, tree.rglob("*.png")))
    network = backbone()
    found = list(embedded(files, network, processes=processes))
    assert [k for batch in found for k in batch.positions] == list(range(len(files)))
    pixels = np.stack([read_image(file, 32) for file in files])
    expected = network(torch.from_numpy(pixels).permute(0, 3, 1, 2))
    features = torch.cat([batch.features for batch in found])
    torch.testing.assert_close(features, expected)


def test_a_feature_does_not_depend_on_what_is_computed_with_it(tree: Path) -> None:
    files = sorted(map(str, tree.rglob("*.png")))
    network = backbone()

    def features(some: list[str]) -> Tensor:
        return torch.cat([batch.features for batch in embedded(some, network)])

    together = features(files)
    for n in (1, 3, 16, 17):
        assert torch.equal(features(files[-n:]), together[-n:])


def test_each_image_is_computed_once(
    tree: Path, tmp_path: Path, computed: list[str]
) -> None:
    def learn_from(cache: str = "cache", **settings: Any) -> int:
        computed.clear()
        features = FrozenFeatures(backbone(**settings), tmp_path / cache)
        size = features.backbone.image_size
        all_inputs(folders(tree, image_size=size, features=features))
        return len(computed)

    # The helper that writes them makes some twice.
    contents = {file.read_bytes() for file in tree.rglob("*.png")}
    assert learn_from() == len(contents)
    assert learn_from() == 0
    # Another seed splits them differently, and a moved image is the same image.
    shutil.move(tree / "a" / "x" / "0.png", tree / "b" / "x" / "new.png")
    assert learn_from() == 0
    # Other weights or another size make other features.
    assert learn_from(seed=1) == learn_from(size=64) == len(contents)
    assert learn_from() == 0


def test_a_new_or_changed_image_is_computed(
    tree: Path, tmp_path: Path, computed: list[str], write_image: Any
) -> None:
    def compute() -> list[str]:
        computed.clear()
        files = sorted(map(str, tree.rglob("*.png")))
        assert not list(FrozenFeatures(backbone(), tmp_path).compute(files))
        return list(computed)

    compute()
    changed = write_image(tree / "a" / "x" / "0.png", (1, 2, 3))
    new = write_image(tree / "a" / "x" / "new.png", (3, 2, 1))
    assert sorted(compute()) == [str(changed), str(new)]


def test_what_was_computed_before_an_interruption_is_kept(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, computed: list[str]
) -> None:
    files = sorted(map(str, tree.rglob("*.png")))
    different = len({Path(file).read_bytes() for file in files})
    monkeypatch.setattr(frozen_features, "KEPT_EVERY", 8)
    monkeypatch.setattr("udil_avalanche.benchmarks.features.embedding.BATCH_SIZE", 4)
    network = backbone()
    calls = 0

    def fail_late(*arguments: Any) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return Backbone.forward(network, *arguments)

    monkeypatch.setattr(network, "forward", fail_late)
    with pytest.raises(KeyboardInterrupt):
        list(FrozenFeatures(network, tmp_path).compute(files))
    monkeypatch.undo()
    monkeypatch.setattr(
        frozen_features,
        "embedded",
        lambda files, *a, **k: (
            computed.extend(files) or embedded(files, *a, **k, processes=1)
        ),
    )
    computed.clear()
    list(FrozenFeatures(backbone(), tmp_path).compute(files))
    assert len(computed) == different - 8


def test_a_damaged_cache_is_computed_again(
    tree: Path, tmp_path: Path, computed: list[str]
) -> None:
    files = sorted(map(str, tree.rglob("*.png")))
    network = backbone()
    features = FrozenFeatures(network, tmp_path)
    list(features.compute(files))
    expected = features.rows(files)
    [kept] = features.store.folder.glob("*.safetensors")
    kept.write_bytes(kept.read_bytes()[:100])
    computed.clear()
    again = FrozenFeatures(network, tmp_path)
    list(again.compute(files))
    assert computed
    assert torch.equal(again.rows(files), expected)


def test_damaged_images_are_named_or_left_out(tree: Path, tmp_path: Path) -> None:
    (tree / "a" / "x" / "bad.png").write_bytes(b"no image")
    for _ in range(2):  # The second time from the cache.
        features = FrozenFeatures(backbone(), tmp_path / "cache")
        with pytest.raises(BadData, match=r"(?s)1 fault.*bad\.png: not a whole image"):
            folders(tree, image_size=32, features=features)
    with pytest.warns(BadDataWarning):
        frozen = folders(tree, image_size=32, features=features, skip_invalid=True)
    with pytest.warns(BadDataWarning):
        images = folders(tree, image_size=32, skip_invalid=True)
    assert frozen.details == images.details
    expected = features.backbone(all_inputs(images))
    torch.testing.assert_close(all_inputs(frozen), expected)


def trained(scenario: Any, model: EncoderPredictor, silent: Any) -> Naive:
    torch.manual_seed(4)
    replay = BalancedReplayPlugin(mem_size=8, batch_size_mem=4)
    strategy = Naive(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
        train_mb_size=4,
        train_epochs=2,
        plugins=[TensorLoaderPlugin(), replay, ImageLoaderPlugin(workers=0)],
        evaluator=silent(),
    )
    for experience in scenario.train_stream:
        strategy.train(experience)
    return strategy


def test_learning_from_features_is_learning_with_the_network_inside(
    tree: Path, tmp_path: Path, silent: Any
) -> None:
    network = backbone()
    features = FrozenFeatures(network, tmp_path / "cache")
    torch.manual_seed(3)
    head = mlp(network.width, 2, hidden=8)
    torch.manual_seed(3)
    inside = with_backbone(network, mlp(network.width, 2, hidden=8))
    frozen = folders(tree, image_size=32, features=features)
    images = folders(tree, image_size=32)
    of_features = trained(frozen, head, silent)
    of_images = trained(images, inside, silent)
    before = mlp(network.width, 2, hidden=8).state_dict()
    for name, value in of_features.model.state_dict().items():
        name_inside = name.replace("encoder.", "encoder.body.")
        other = of_images.model.state_dict()[name_inside]
        torch.testing.assert_close(value, other, rtol=1e-4, atol=1e-5)
        assert not torch.allclose(value, before[name], rtol=1e-3, atol=1e-3)
    # The memories hold the same samples, as features and as images.
    kept, seen = (
        next(p for p in strategy.plugins if isinstance(p, BalancedReplayPlugin)).memory
        for strategy in (of_features, of_images)
    )
    assert kept.fields[0].shape == (len(kept), network.width)
    torch.testing.assert_close(kept.fields[0], network(seen.fields[0]))


@pytest.mark.parametrize("split", [False, True])
def test_written_features_are_the_same_benchmark(
    split: bool, tree: Path, tmp_path: Path, write_tree: Any
) -> None:
    root = tree
    if split:
        root = write_tree(tmp_path / "split" / "train", TREE).parent
        write_tree(root / "test", TREE)
    features = FrozenFeatures(backbone(), tmp_path / "cache")
    files = embed(root, tmp_path / "written", features)
    assert [file.name for file in files] == ["a.npz", "b.npz"]
    written = arrays(tmp_path / "written", seed=5)
    frozen = folders(root, image_size=32, features=features, seed=5)
    assert torch.equal(all_inputs(written), all_inputs(frozen))
    assert len(written.train_stream[0].dataset) == len(frozen.train_stream[0].dataset)
    with np.load(files[0]) as stored:
        assert stored["class_names"].tolist() == ["x", "y"]
    # Written again over the same domains, but not beside others.
    embed(root, tmp_path / "written", features, order="b,a")
    with pytest.raises(BadData, match=r"holds other domains \(a\)"):
        embed(root, tmp_path / "written", features, order="b")


def test_two_stores_of_one_backbone_share_what_they_keep(tmp_path: Path) -> None:
    network = backbone()
    one, other = (FeatureStore(tmp_path, network) for _ in range(2))
    with one.lock():
        one.add(["00" * 32], torch.ones(1, network.width))
    assert "00" * 32 not in other
    other.refresh()
    assert torch.equal(other.rows(["00" * 32]), torch.ones(1, network.width))
