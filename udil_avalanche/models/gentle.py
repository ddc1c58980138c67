"""Fine-tuning of a trained network that changes it only a little."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torchvision.ops import FrozenBatchNorm2d


def freeze_batch_norm(module: nn.Module) -> nn.Module:
    """Replace every BatchNorm by one that keeps its statistics and scales, in training
    too.

    Small mini-batches of one domain would replace the statistics that the network was
    trained with by noisy ones of that domain.

    :param module: it is changed.
    :return: the module, or what replaces it.
    """
    if isinstance(module, nn.BatchNorm2d):
        frozen = FrozenBatchNorm2d(module.num_features, eps=module.eps)
        frozen.load_state_dict(module.state_dict(), strict=False)
        # timm's BatchNorm has an activation inside.
        rest = [layer for _, layer in module.named_children()]
        return nn.Sequential(frozen, *rest) if rest else frozen
    for name, child in module.named_children():
        setattr(module, name, freeze_batch_norm(child))
    return module


def slow_down(
    optimizer: Optimizer, parameters: Iterable[Tensor], ratio: float
) -> Optimizer:
    """Let an optimizer change some parameters by a fraction of its step: the same as a
    learning rate of their own, ``ratio`` times that of the others.

    Avalanche's strategies only take optimizers with a single group of parameters.

    :param optimizer: SGD, Adam, or another whose step is proportional to its rate.
    :param parameters: the parameters to change less.
    :param ratio: the fraction.
    """
    slow = [each for each in parameters if each.requires_grad]
    before: list[Tensor] = []

    @torch.no_grad()
    def remember(*_: Any) -> None:
        before[:] = [each.detach().clone() for each in slow]

    @torch.no_grad()
    def go_back(*_: Any) -> None:
        torch._foreach_lerp_(slow, before, 1 - ratio)
        before.clear()

    optimizer.register_step_pre_hook(remember)
    optimizer.register_step_post_hook(go_back)
    return optimizer
