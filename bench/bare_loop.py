"""UDIL's step without Avalanche: the mathematics, written down one after the other."""

import copy

import torch
from torch import Tensor, nn

from udil_avalanche.losses import (
    discriminator_loss,
    embedding_distillation_loss,
    empirical_divergence,
    encoder_alignment_loss,
    model_loss,
    supcon_loss,
)
from udil_avalanche.memory.balanced import BalancedMemory
from udil_avalanche.models.discriminator import DomainDiscriminator
from udil_avalanche.models.mlp import EncoderPredictor
from udil_avalanche.plugins.udil.omega import AdaptiveOmega
from udil_avalanche.theory.bound import BoundEstimates
from udil_avalanche.theory.domains import domain_means


class BareUDIL:
    """Domain t of UDIL as a plain loop of PyTorch would train it: no strategy, no
    plugins, no metrics. The benchmark holds the strategy's step against this one.

    :param model: h = p o e; a copy of it, as it is, serves as H_{t-1}.
    :param memory: samples of the t - 1 past domains.
    :param n_current: N_t, the size of the current domain.
    :param batch_size_mem: memory samples in each step.
    :param c: C of V_0-1.
    :param lambda_d: weight of V_d.
    :param lambda_p: weight of V_p.
    :param lambda_s: weight of V_s.
    :param lr: learning rate of the model's Adam.
    """

    def __init__(
        self,
        model: EncoderPredictor,
        memory: BalancedMemory,
        n_current: int,
        *,
        batch_size_mem: int = 128,
        c: float = 100.0,
        lambda_d: float = 0.5,
        lambda_p: float = 0.03,
        lambda_s: float = 0.01,
        lr: float = 3e-4,
    ) -> None:
        self.model = model
        self.memory = memory
        self.batch_size_mem = batch_size_mem
        self.c = c
        self.lambda_d, self.lambda_p, self.lambda_s = lambda_d, lambda_p, lambda_s

        n_past = memory.n_domains
        width = model.predictor.in_features
        assert isinstance(width, int)
        self.discriminator = DomainDiscriminator(width, n_past + 1)
        self.omega = AdaptiveOmega()
        self.omega.start_domain(n_past)
        self.optimizer = _adam(model, lr)
        self.discriminator_optimizer = _adam(self.discriminator, 1e-5)

        self.history = copy.deepcopy(model).eval().requires_grad_(False)
        self.memory_embeddings = self.history.encoder(memory.fields[0])
        self.memory_logits = self.history.predictor(self.memory_embeddings)
        wrong = self.memory_logits.argmax(dim=1) != memory.labels
        self.history_error = domain_means(wrong.float(), memory.domains, n_past)
        self.n_current, self.n_memory = n_current, memory.counts

    def step(self, x: Tensor, y: Tensor) -> None:
        """One step of Algorithm 1.

        :param x: samples of the current domain.
        :param y: their classes.
        """
        n, n_past = len(y), self.memory.n_domains
        drawn = self.memory.sample(self.batch_size_mem)
        domains = self.memory.domains[drawn]
        labels = torch.cat([y, self.memory.labels[drawn]])
        inputs = torch.cat([x, self.memory.fields[0].index_select(0, drawn)])

        embeddings = self.model.encoder(inputs)
        logits = self.model.predictor(embeddings)
        history_logits = torch.cat([self.history(x), self.memory_logits[drawn]])

        seen = embeddings.detach().requires_grad_()
        domain_logits = self.discriminator(seen)
        V_d = discriminator_loss(domain_logits, domains, self.omega.values.beta)
        self.discriminator_optimizer.zero_grad()
        V_d.backward()
        self.discriminator_optimizer.step()
        assert seen.grad is not None

        with torch.no_grad():
            predicted = logits.argmax(dim=1)
            wrong = (predicted != labels).float()
            differs = (predicted != history_logits.argmax(dim=1)).float()
            estimates = BoundEstimates(
                current_error=wrong[:n].mean(),
                past_error=domain_means(wrong[n:], domains, n_past),
                current_disagreement=differs[:n].mean(),
                past_disagreement=domain_means(differs[n:], domains, n_past),
                divergence=empirical_divergence(domain_logits, domains, n_past),
                history_error=self.history_error,
                n_current=self.n_current,
                n_memory=self.n_memory,
            )
        self.omega.step(estimates, self.c)

        V_l = model_loss(
            logits=logits,
            labels=labels,
            domains=domains,
            history_logits=history_logits,
            omega=self.omega.values,
            cross_domain_threshold=1.0,
        ).total
        V_p = embedding_distillation_loss(
            embeddings[n:],
            self.memory_embeddings.index_select(0, drawn),
            domains,
            n_past,
        )
        V_s = supcon_loss(embeddings, labels)
        minus_V_d = encoder_alignment_loss(embeddings, V_d, seen.grad)
        loss = (
            V_l + self.lambda_d * minus_V_d + self.lambda_p * V_p + self.lambda_s * V_s
        )
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def _adam(module: nn.Module, lr: float) -> torch.optim.Optimizer:
    return torch.optim.Adam(module.parameters(), lr=lr, fused=True)


__all__ = ["BareUDIL"]
