"""What every run has to set."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal


def number(
    default: float | None,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
) -> Any:
    """A field that holds a number within limits."""
    limits = {"at_least": at_least, "above": above, "at_most": at_most, "below": below}
    return field(default=default, metadata=limits)


@dataclass
class RunSettings:
    """What every run has."""

    data_is_the_task: ClassVar[bool] = False

    strategy: str = ""
    """how to learn; see --list"""
    benchmark: str = ""
    """what to learn; see --list"""
    memory: int = number(400, at_least=0)
    """samples kept of all past domains together"""
    seed: int = number(0, at_least=0, below=2**32)
    """every random draw follows from it: data, initial weights, order of the batches"""
    epochs: int = number(1, at_least=1)
    """passes over the training data of each domain"""
    domains: int = number(20, at_least=1)
    """number of domains"""
    train_per_domain: int | None = number(None, at_least=1)
    """training samples of each domain; null: all that the benchmark has"""
    batch_size: int = number(128, at_least=1)
    """samples of the current domain in a step"""
    eval_batch_size: int = number(1000, at_least=1)
    """samples in a batch of the evaluation"""
    optimizer: Literal["adam", "sgd"] = "sgd"
    """optimizer of the model: adam or sgd"""
    lr: float = number(0.1, above=0)
    """learning rate of the model"""
    momentum: float = number(0.0, at_least=0, below=1)
    """momentum of sgd"""
    weight_decay: float = number(0.0, at_least=0)
    """weight decay of the model's optimizer"""
    clip_norm: float | None = number(None, above=0)
    """largest norm that the model's gradient keeps in a step; null: any"""
    anneal: float = number(0.0, at_least=0, at_most=1)
    """share of each domain's steps, its last ones, over which the learning rate falls
    to a tenth"""
    hidden: int = number(800, at_least=1)
    """width of the model's hidden layers"""
    validation: float = number(0.0, at_least=0, below=1)
    """share of every training domain that is held out and tested on instead of the
    test set: for choosing settings"""
    test_all_domains: bool = False
    """test after each domain on all domains; otherwise on those learned so far and the
    next, which is all that the paper's metrics read"""
    device: str = "cpu"
    """where to compute: cpu, cuda, cuda:1, mps"""
    threads: int | None = number(None, at_least=1)
    """threads that torch computes with; null: as many as it likes"""
    save_every: float = number(60.0, at_least=0)
    """seconds between two states that are saved within a domain; one is saved after
    each domain anyway"""
    output: str = "runs"
    """folder for the run folders"""
    data: str = "data"
    """folder for the datasets"""


__all__ = ["RunSettings", "number"]
