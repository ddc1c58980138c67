"""What each strategy has to set, besides what every run has."""

from dataclasses import dataclass
from typing import Literal

from udil_avalanche.settings.run import RunSettings, number


@dataclass
class UDILSettings(RunSettings):
    """Unified Domain Incremental Learning: adaptive coefficients, aligned domains."""

    coefficients: Literal[
        "learned", "LwF", "ER", "DER++", "iCaRL", "CLS-ER", "ESM-ER", "BiC"
    ] = "learned"
    """alpha, beta and gamma: learned, or held where a method of the unification table
    has them"""
    memory_batch: int = number(128, at_least=1)
    """samples from the memory in a step"""
    class_balanced_memory: bool = False
    """share a domain's part of the memory out evenly between its classes"""
    C: float = number(1.0, at_least=0)
    """weight of the generalisation term in V_0-1: the larger, the more the many samples
    of the current domain count (beta) against the few in memory"""
    lambda_d: float = number(0.1, at_least=0)
    """weight of the adversarial alignment V_d; 0 leaves it out"""
    lambda_p: float = number(1.0, at_least=0)
    """weight of the past-embedding distillation V_p; 0 leaves it out"""
    lambda_s: float = number(0.01, at_least=0)
    """weight of the supervised contrastive loss V_s; 0 leaves it out"""
    temperature: float = number(1.0, above=0)
    """divides the squared distances in V_s"""
    cross_domain_threshold: float | None = number(None, above=0)
    """leave the cross-domain term of V_l out of a step in which its loss is larger;
    null: never"""
    lr_discriminator: float = number(1e-4, above=0)
    """learning rate of the domain discriminator's Adam"""
    lr_coefficients: float = number(2e-3, above=0)
    """learning rate of the Adam that learns alpha, beta and gamma"""
    hidden_discriminator: int = number(800, at_least=1)
    """width of the domain discriminator's hidden layers"""
    domain_power: float = number(0.0, at_least=0)
    """divide the objective, a sum over the domains so far, by their number to this
    power: at 0 the steps of sgd grow with every domain, 1 averages"""
    reset_optimizer: bool = True
    """forget the state of the model's optimizer before each domain"""


@dataclass
class ExemplarFreeSettings(RunSettings):
    """What the methods without a memory share."""

    memory: int = number(0, at_least=0, at_most=0)
    """this strategy keeps no samples"""


@dataclass
class FineTuneSettings(ExemplarFreeSettings):
    """Trains on one domain after another and does nothing against forgetting."""


@dataclass
class OEWCSettings(ExemplarFreeSettings):
    """Online elastic weight consolidation: holds the weights that the past needs."""

    ewc_lambda: float = number(1.0, at_least=0)
    """lambda, weight of the penalty; sgd diverges if lr * ewc_lambda is too large"""
    gamma: float = number(1.0, at_least=0, at_most=1)
    """what is left of the past domains' Fisher information at each new domain"""
    fisher_samples: int | None = number(None, at_least=1)
    """random samples of a domain for its Fisher information; null: all"""


@dataclass
class SISettings(ExemplarFreeSettings):
    """Synaptic intelligence: holds the weights whose movement brought the loss down."""

    c: float = number(0.1, at_least=0)
    """strength of the surrogate loss that holds the weights"""
    xi: float = number(0.1, above=0)
    """keeps the importance of a weight that hardly moved finite"""


@dataclass
class LwFSettings(ExemplarFreeSettings):
    """Learning without forgetting: on new samples, the answers of the model before."""

    alpha: float = number(1.0, at_least=0)
    """weight of the distillation in the loss"""
    temperature: float = number(2.0, above=0)
    """softens the answers before they are compared"""


@dataclass
class GEMSettings(RunSettings):
    """Gradient episodic memory: no step may raise the loss on any past domain."""

    margin: float = number(0.5, at_least=0)
    """least weight of every past domain's gradient in a step that is corrected"""


@dataclass
class AGEMSettings(RunSettings):
    """Averaged GEM: no step may raise the average loss on a draw from the memory."""

    memory_batch: int = number(128, at_least=1)
    """samples from the memory that a step must not do worse on"""


@dataclass
class ERSettings(RunSettings):
    """Experience replay: every step sees some of the samples in memory as well."""

    memory_batch: int = number(128, at_least=1)
    """samples from the memory in a step"""
    reservoir: bool = False
    """fill the memory by reservoir sampling instead of evenly over the domains"""


@dataclass
class DERSettings(RunSettings):
    """Dark experience replay++: replays the logits of old samples and their labels."""

    alpha: float = number(1.0, at_least=0)
    """weight of the squared distance to the logits in memory"""
    beta: float = number(1.0, at_least=0)
    """weight of the loss on the labels in memory; at 0 it is DER"""
    memory_batch: int = number(128, at_least=1)
    """samples from the memory for each of the two terms in a step"""
    reservoir: bool = False
    """fill the memory by reservoir sampling instead of evenly over the domains"""


@dataclass
class CLSERSettings(ERSettings):
    """ER with a fast and a slow average of the model as its teachers."""

    reg_weight: float = number(0.1, at_least=0)
    """weight of the squared distance to the averages' logits on the memory"""
    stable_freq: float = number(0.7, above=0, at_most=1)
    """probability of an update of the slow average, which is evaluated, in a step"""
    stable_alpha: float = number(0.999, at_least=0, at_most=1)
    """decay of the slow average"""
    plastic_freq: float = number(0.9, above=0, at_most=1)
    """probability of an update of the fast average in a step"""
    plastic_alpha: float = number(0.999, at_least=0, at_most=1)
    """decay of the fast average"""


@dataclass
class ESMERSettings(ERSettings):
    """ER that learns less from errors that are unusually large."""

    reg_weight: float = number(0.1, at_least=0)
    """weight of the squared distance to the average's logits on the memory"""
    stable_freq: float = number(0.7, above=0, at_most=1)
    """probability of an update of the average, which is evaluated, in a step"""
    stable_alpha: float = number(0.999, at_least=0, at_most=1)
    """decay of the average of the model"""
    loss_margin: float = number(1.0, above=0)
    """a loss above this many times the running mean counts less"""
    loss_alpha: float = number(0.99, at_least=0, at_most=1)
    """decay of the running mean of the losses"""
    std_margin: float = number(1.0, at_least=0)
    """losses more than this many deviations above the mini-batch's mean are left out
    of the running mean"""
    warmup: float = number(0.1, at_least=0, at_most=1)
    """share of the steps on each domain before the running mean follows it"""


@dataclass
class JointSettings(ExemplarFreeSettings):
    """The oracle: trains on all domains at once; epochs are passes over all of them."""

    memory: int = number(0, at_least=0, at_most=0)
    """joint training needs no memory: it has all samples of all domains at once"""


__all__ = [
    "AGEMSettings",
    "CLSERSettings",
    "DERSettings",
    "ERSettings",
    "ESMERSettings",
    "ExemplarFreeSettings",
    "FineTuneSettings",
    "GEMSettings",
    "JointSettings",
    "LwFSettings",
    "OEWCSettings",
    "SISettings",
    "UDILSettings",
]
