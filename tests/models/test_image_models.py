from pathlib import Path

import pytest
import torch
import torchvision
from safetensors.torch import save_file
from torch import nn

from udil_avalanche.models.image_input import IMAGENET, ImageInput
from udil_avalanche.models.image_models import image_model


def images(n: int = 3, size: int = 32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    shape = (n, 3, size, size)
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)


def test_normalisation_is_torchvisions() -> None:
    x = images()
    expected = torchvision.transforms.functional.normalize(x / 255, *IMAGENET)
    layer = ImageInput(*IMAGENET)
    torch.testing.assert_close(layer(x), expected)
    torch.testing.assert_close(layer(x.float() / 255), expected)
    assert layer(x[:, :1]).shape == x.shape


def test_resnet_is_split_before_its_average_pooling() -> None:
    torch.manual_seed(0)
    model = image_model("resnet18", 7, image_size=64).eval()
    torch.manual_seed(0)
    whole = torchvision.models.resnet18(num_classes=7).eval()
    x = images(size=64)
    seen = []
    whole.avgpool.register_forward_hook(lambda module, args, out: seen.append(args[0]))
    expected = whole(ImageInput(*IMAGENET)(x))
    torch.testing.assert_close(model(x), expected)
    embeddings = model.encoder(x)
    assert embeddings.shape == (3, 512, 2, 2)
    torch.testing.assert_close(embeddings, seen[0])
    kinds = [type(layer) for layer in model.predictor]
    assert kinds == [nn.AdaptiveAvgPool2d, nn.Flatten, nn.Linear]


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("mobilenet_v3_small", 1024),
        ("squeezenet1_1", 512),
        ("shufflenet_v2_x0_5", 1024),
    ],
)
def test_other_networks_are_split_before_their_classifier(name: str, size: int) -> None:
    torch.manual_seed(0)
    model = image_model(name, 5, image_size=32).eval()
    torch.manual_seed(0)
    whole = torchvision.models.get_model(name, num_classes=5).eval()
    x = images()
    torch.testing.assert_close(model(x), whole(ImageInput(*IMAGENET)(x)))
    assert model.encoder(x).shape[1] == size


def test_weights_from_a_file(tmp_path: Path) -> None:
    name = "shufflenet_v2_x0_5"
    torch.manual_seed(5)
    of_1000_classes = torchvision.models.get_model(name)
    state = of_1000_classes.state_dict()
    torch.save(state, tmp_path / "a.pth")
    save_file(state, tmp_path / "a.safetensors")
    for file in ("a.pth", "a.safetensors"):
        model = image_model(name, 5, image_size=32, weights=tmp_path / file)
        own = model.state_dict()
        assert torch.equal(own["encoder.body.conv5.0.weight"], state["conv5.0.weight"])
        assert own["predictor.weight"].shape == (5, 1024)
    same = torchvision.models.get_model(name, num_classes=5).state_dict()
    torch.save(same, tmp_path / "b.pth")
    model = image_model(name, 5, image_size=32, weights=tmp_path / "b.pth")
    assert torch.equal(model.predictor.weight, same["fc.weight"])


def test_weights_of_an_earlier_run(tmp_path: Path) -> None:
    first = image_model("shufflenet_v2_x0_5", 5, image_size=32)
    save_file(first.state_dict(), tmp_path / "model.safetensors")
    path = tmp_path / "model.safetensors"
    again = image_model("shufflenet_v2_x0_5", 5, image_size=32, weights=path)
    x = images()
    assert torch.equal(first.eval()(x), again.eval()(x))
    other = image_model("shufflenet_v2_x0_5", 9, image_size=32, weights=path).eval()
    assert torch.equal(first.encoder(x), other.encoder(x))
    assert other(x).shape == (3, 9)


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path("evil"),))


def test_a_wrong_file_of_weights_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(torchvision.models.resnet18().state_dict(), "resnet.pth")
    torch.save({"weights": Evil()}, "evil.pth")
    torch.save([1, 2], "list.pth")
    Path("broken.safetensors").write_bytes(b"nothing")
    for file, reason in {
        "gone.pth": "there is no such file",
        "resnet.pth": "not those of shufflenet_v2_x0_5: .* do not fit",
        "evil.pth": "not a state dict",
        "list.pth": "not a state dict",
        "broken.safetensors": "cannot be read",
    }.items():
        with pytest.raises(ValueError, match=rf"weights={file}: {reason}"):
            image_model("shufflenet_v2_x0_5", 5, image_size=32, weights=file)
    assert not Path("evil").exists()


def test_a_wrong_network_is_explained() -> None:
    with pytest.raises(ValueError, match=r"no such model: did you mean resnet18\?"):
        image_model("resnet_18", 5)
    with pytest.raises(ValueError, match="does not take images of 8 x 8"):
        image_model("alexnet", 5, image_size=8)
    with pytest.raises(ValueError, match="vit_b_16"):
        image_model("vit_b_16", 5, image_size=30)
