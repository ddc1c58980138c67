"""Backbones: images in, features out."""

import urllib.error
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision
from safetensors.torch import save_file
from torch import Tensor, nn

from udil_avalanche.models import image_model
from udil_avalanche.models.backbones import (
    Backbone,
    make_backbone,
    network_input,
    with_backbone,
)
from udil_avalanche.models.backbones.lite_networks import PACKAGES
from udil_avalanche.models.image_input import IMAGENET
from udil_avalanche.models.mlp import mlp

SMALL = "shufflenet_v2_x0_5"


def images(n: int = 3, size: int = 32) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    shape = (n, 3, size, size)
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)


def small(seed: int = 0, **settings: Any) -> Backbone:
    torch.manual_seed(seed)
    return make_backbone(SMALL, **{"pretrained": False, "image_size": 32} | settings)


@pytest.mark.parametrize(
    ("name", "width"),
    [("resnet18", 512), (SMALL, 1024), ("squeezenet1_1", 512), ("alexnet", 4096)],
)
def test_features_are_what_the_classifier_of_the_network_sees(
    name: str, width: int
) -> None:
    torch.manual_seed(0)
    backbone = make_backbone(name, pretrained=False, image_size=64)
    torch.manual_seed(0)
    whole = torchvision.models.get_model(name, num_classes=1000).eval()
    assert backbone.width == width
    x = images(size=64)
    features = backbone(x)
    assert features.shape == (3, width)
    normalised = torchvision.transforms.functional.normalize(x / 255, *IMAGENET)
    if name == "squeezenet1_1":
        expected = whole.features(normalised).mean(dim=(2, 3))
    else:
        seen: list[Tensor] = []
        *_, last = (m for m in whole.modules() if isinstance(m, nn.Linear))
        last.register_forward_hook(lambda module, args, out: seen.append(args[0]))
        whole(normalised)
        [expected] = seen
    torch.testing.assert_close(features, expected)


def test_size_and_normalisation_come_with_the_network() -> None:
    assert network_input("resnet18") == (224, IMAGENET)
    assert network_input("efficientnet_b1").image_size == 240
    size, (mean, std) = network_input("efficientnet_lite0")
    assert (size, mean, std) == (224, (0.498,) * 3, (0.502,) * 3)
    backbone = make_backbone("resnet18", pretrained=False)
    assert backbone.image_size == 224
    assert backbone.input.mean.flatten().tolist() == pytest.approx(IMAGENET[0])


def test_images_of_another_size_are_scaled() -> None:
    backbone = small()
    flat = torch.full((2, 3, 50, 40), 200, dtype=torch.uint8)
    torch.testing.assert_close(backbone(flat), backbone(flat[:, :, :32, :32]))
    big = images(size=64)
    scaled = nn.functional.interpolate(
        big / 255, (32, 32), mode="bilinear", antialias=True
    )
    torch.testing.assert_close(backbone(big), backbone(scaled))


def test_it_never_changes_whatever_is_around_it() -> None:
    backbone = small()
    model = with_backbone(backbone, mlp(backbone.width, 4, hidden=8)).train()
    before = backbone.digest()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(images()).sum().backward()
    optimizer.step()
    assert backbone.digest() == before
    assert not any(module.training for module in backbone.modules())
    assert model.predictor.weight.grad is not None


def test_a_composed_model_is_the_model_of_the_features() -> None:
    backbone = small()
    head = mlp(backbone.width, 4, hidden=8)
    expected = head(backbone(images()))
    torch.testing.assert_close(with_backbone(backbone, head)(images()), expected)


def test_the_digest_knows_weights_size_and_normalisation() -> None:
    digests = [
        small().digest(),
        small(seed=1).digest(),
        small(image_size=64).digest(),
        small(normalisation=((0.5,) * 3, (0.5,) * 3)).digest(),
    ]
    assert len(set(digests)) == 4
    assert small().digest() == digests[0]


def test_weights_from_files_are_the_same_backbone(tmp_path: Path) -> None:
    torch.manual_seed(5)
    state = torchvision.models.get_model(SMALL, num_classes=11).state_dict()
    torch.save(state, tmp_path / "a.pth")
    save_file(state, tmp_path / "a.safetensors")
    made = [small(weights=tmp_path / f"a.{kind}") for kind in ("pth", "safetensors")]
    assert made[0].digest() == made[1].digest() != small().digest()
    # A file goes before the published weights, which are then not fetched.
    assert small(weights=tmp_path / "a.pth", pretrained=True).digest() == (
        made[0].digest()
    )


def test_what_cannot_be_fetched_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **keywords: Any) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", refuse)
    with pytest.raises(ValueError, match=r"resnet18: .*no network.*weights=FILE"):
        make_backbone("resnet18")
    with pytest.raises(ValueError, match=r"resnet18: .*efficientnet_lite0"):
        image_model("resnet18", 5, pretrained=True)


def test_published_weights_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(5)
    state = torchvision.models.get_model(SMALL).state_dict()
    monkeypatch.setattr(
        "torchvision.models._api.load_state_dict_from_url", lambda *a, **k: state
    )
    backbone = make_backbone(SMALL, image_size=32)
    assert torch.equal(backbone.body.conv5[0].weight, state["conv5.0.weight"])
    model = image_model(SMALL, 5, image_size=32, pretrained=True)
    own = model.state_dict()
    assert torch.equal(own["encoder.body.conv5.0.weight"], state["conv5.0.weight"])


def test_the_packaged_network_has_its_weights() -> None:
    pytest.importorskip(PACKAGES[1])
    backbone = make_backbone()
    assert (backbone.name, backbone.width) == ("efficientnet_lite0", 1280)
    torch.manual_seed(0)
    other = make_backbone(pretrained=False)
    assert other.digest() != backbone.digest()
    assert backbone(images(size=128)).isfinite().all()


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "udil_avalanche.models.backbones.lite_networks.find_spec", lambda name: None
    )
    monkeypatch.setattr(
        "udil_avalanche.models.backbones.timm_networks.find_spec", lambda name: None
    )
    with pytest.raises(ValueError, match=r"pip install 'udil_avalanche\[lite\]'"):
        make_backbone()
    with pytest.raises(ValueError, match=r"pip install 'udil_avalanche\[timm\]'"):
        make_backbone("timm/resnet18")
    with pytest.raises(ValueError, match=r"pip install 'udil_avalanche\[timm\]'"):
        make_backbone("qqqqqqqq")


def test_networks_of_timm() -> None:
    pytest.importorskip("timm")
    backbone = make_backbone("timm/resnet18", pretrained=False, image_size=64)
    assert backbone.width == 512
    assert network_input("vit_tiny_patch16_224").normalisation[0] == (0.5, 0.5, 0.5)
    vit = make_backbone("vit_tiny_patch16_224", pretrained=False, image_size=64)
    assert vit(images(size=64)).shape == (3, 192)
    model = image_model("vit_tiny_patch16_224", 5, image_size=64)
    assert model(images(size=64)).shape == (3, 5)
    with pytest.raises(ValueError, match="did you mean vit_tiny_patch16_224"):
        make_backbone("vit_tiny_patch16_22")
