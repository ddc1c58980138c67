"""Fine-tuning that changes a network only a little."""

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torchvision.ops import FrozenBatchNorm2d

from udil_avalanche.models import image_model
from udil_avalanche.models.gentle import freeze_batch_norm, slow_down

SMALL = "shufflenet_v2_x0_5"


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
        (torch.optim.Adam, {"lr": 0.01, "fused": True}),
    ],
)
def test_a_part_learns_as_by_a_rate_of_its_own(kind: Any, settings: Any) -> None:
    first = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    second = copy.deepcopy(first)
    slowed = slow_down(
        kind(first.parameters(), **settings), first[0].parameters(), 0.25
    )
    groups = [
        {"params": second[0].parameters(), "lr": 0.25 * settings["lr"]},
        {"params": second[2].parameters()},
    ]
    grouped = kind(groups, **settings)
    for _ in range(5):
        x = torch.randn(6, 4)
        for model, optimizer in ((first, slowed), (second, grouped)):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            optimizer.step()
    for mine, expected in zip(first.parameters(), second.parameters(), strict=True):
        torch.testing.assert_close(mine, expected)


def test_frozen_batch_norm_computes_as_in_evaluation_and_keeps_what_it_has() -> None:
    model = image_model(SMALL, 3, image_size=32)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.1, 0.1)
            nn.init.uniform_(module.running_var, 0.5, 2)
    x = torch.randint(256, (4, 3, 32, 32), dtype=torch.uint8)
    expected = model.eval()(x)
    frozen = freeze_batch_norm(copy.deepcopy(model)).train()
    torch.testing.assert_close(frozen(x), expected)
    assert not any(isinstance(each, nn.BatchNorm2d) for each in frozen.modules())
    kept = [each for each in frozen.modules() if isinstance(each, FrozenBatchNorm2d)]
    assert kept and not any(list(each.parameters()) for each in kept)
    frozen(x).sum().backward()
    assert all(each.grad is not None for each in frozen.parameters())


def test_a_single_batch_norm_is_replaced() -> None:
    assert isinstance(freeze_batch_norm(nn.BatchNorm2d(3)), FrozenBatchNorm2d)
