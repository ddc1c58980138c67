"""The domain discriminator d."""

import copy

import torch
from torch import Tensor, nn

from udil_avalanche.models.mlp import linear_relu


class DomainDiscriminator(nn.Module):
    """The discriminator d: two hidden layers and one output per domain.

    :class:`~udil_avalanche.DiscriminatorPlugin` makes and trains it.

    :param embedding_size: number of values of one embedding.
    :param n_domains: number of domains to distinguish.
    :param hidden: width of the hidden layers.
    """

    def __init__(self, embedding_size: int, n_domains: int, hidden: int = 800) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *linear_relu(embedding_size, hidden), *linear_relu(hidden, hidden)
        )
        self.head = nn.Linear(hidden, n_domains)

    def forward(self, embeddings: Tensor) -> Tensor:
        """The domain logits of ``embeddings``."""
        logits: Tensor = self.head(self.body(embeddings))
        return logits

    def grown(self, n_domains: int) -> "DomainDiscriminator":
        """A copy with an output for each of ``n_domains`` domains and the same weights.

        :param n_domains: at least as many domains as now.
        """
        copied = copy.deepcopy(self)
        head = nn.Linear(self.head.in_features, n_domains).to(self.head.weight)
        with torch.no_grad():
            head.weight[: self.head.out_features] = self.head.weight
            head.bias[: self.head.out_features] = self.head.bias
        copied.head = head
        return copied
