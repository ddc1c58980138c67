"""Unified Domain Incremental Learning."""

from typing import Annotated, Literal

from pydantic import Field

from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.settings import Before, RunSettings, Was, arguments
from udil_avalanche.recipes.types import SupervisedTemplate, Training


class UDILSettings(RunSettings):
    """Unified Domain Incremental Learning: adaptive coefficients, aligned domains."""

    average: Annotated[float, Before(0.0)] = Field(0.97, ge=0, lt=1)
    """decay of an average of the model's weights over the steps, which is evaluated and
    saved in the model's place, and is the history model; 0: no average"""
    coefficients: Literal[
        "solved", "learned", "LwF", "ER", "DER++", "iCaRL", "CLS-ER", "ESM-ER", "BiC"
    ] = "solved"
    """alpha, beta and gamma: those that minimise V_0-1, learned by gradient steps on it
    as in the paper, or fixed at the values of a method of the unification table"""
    memory_batch: int = Field(128, ge=1)
    """samples from the memory in a step"""
    stratified_memory: Annotated[bool, Was("class_balanced_memory")] = True
    """keep each domain's class frequencies in its part of the memory"""
    C: float | None = Field(None, ge=0)
    """weight of the generalisation term in V_0-1: the larger, the more the many samples
    of the current domain count (beta) against the few in memory; null: the square root
    of the memory's size"""
    honest: Annotated[bool, Before(False)] = True
    """estimate the errors and divergences in V_0-1 on samples that were left out, not
    as in the paper on those that were trained on"""
    gated: Annotated[bool, Before(False)] = True
    """the cross-domain term of V_l counts for each sample as far as the history model
    is right about it"""
    own_history: Annotated[bool, Before(False)] = True
    """distil the memory of each domain from the model as it was right after that
    domain, not from the newest history model"""
    balanced: Annotated[bool, Before(False)] = True
    """weigh the past by how much of the new domain is known, and V_s by how much is
    not: a domain that has to be learned from scratch gets more room than in the paper's
    sum"""
    distillation_temperature: Annotated[float, Before(1.0)] = Field(2.0, gt=0)
    """temperature of the distillations in V_l; the paper's formula has 1"""
    distillation_doubt: Annotated[float, Before(0.0)] = Field(0.15, ge=0, lt=0.5)
    """when a domain begins, raise that temperature until the history model's answers on
    the memory leave this share of the probability, on average, to other classes than
    the likeliest: surer ones say no more than the labels; 0: never"""
    relative: Annotated[bool, Before(False)] = True
    """measure embeddings in units of their spread in V_p, V_s and V_d, so that their
    weights mean the same for any network, and align the current domain gently"""
    lambda_d: float = Field(0.0, ge=0)
    """weight of the adversarial alignment V_d; 0 leaves it out"""
    lambda_p: float = Field(0.03, ge=0)
    """weight of the past-embedding distillation V_p; 0 leaves it out"""
    lambda_s: float = Field(0.0, ge=0)
    """weight of the supervised contrastive loss V_s; 0 leaves it out"""
    contrast_memory: Annotated[bool, Before(True)] = False
    """V_s compares the samples of all domains as in the paper, not only those of the
    current one"""
    temperature: float = Field(1.0, gt=0)
    """divides the squared distances in V_s"""
    cross_domain_threshold: float | None = Field(None, gt=0)
    """leave the cross-domain term of V_l out of a step in which its loss is larger;
    null: never"""
    lr_discriminator: float = Field(1e-3, gt=0)
    """learning rate of the domain discriminator's Adam"""
    lr_coefficients: float = Field(2e-3, gt=0)
    """learning rate of the Adam that learns alpha, beta and gamma"""
    hidden_discriminator: int = Field(64, ge=1)
    """width of the domain discriminator's hidden layers"""
    objective_t_power: Annotated[float, Was("domain_power")] = Field(0.0, ge=0)
    """divide the objective of domain t, a sum over t domains, by t to this power: at 0
    the steps of sgd grow with every domain, 1 averages"""
    reset_optimizer: bool = True
    """forget the state of the model's optimizer before each domain"""


def _build(settings: UDILSettings, training: Training) -> SupervisedTemplate:
    from udil_avalanche.strategies import UDIL as Strategy
    from udil_avalanche.theory.unification import PRESETS

    preset = PRESETS.get(settings.coefficients)
    shared = {**training.arguments, "flip": training.flip}
    return Strategy(
        preset=preset,
        solved=settings.coefficients == "solved",
        mem_size=settings.memory,
        batch_size_mem=settings.memory_batch,
        c=settings.C,
        plugins=training.plugins,
        **(arguments(Strategy, settings) | shared),
    )


UDIL = MethodRecipe("UDIL", UDILSettings, _build)
