from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from avalanche.training.supervised import Naive

from udil_avalanche.errors import RunError
from udil_avalanche.plugins import FiniteLossPlugin


def strategy(loss: float, device: str = "cpu", step: int = 4, **terms: float) -> Any:
    parts = SimpleNamespace(terms={n: torch.tensor(v) for n, v in terms.items()})
    return SimpleNamespace(
        loss=torch.tensor([loss]),
        device=torch.device(device),
        clock=SimpleNamespace(train_exp_iterations=step, train_exp_counter=1),
        plugins=[object(), parts],
    )


def test_a_finite_loss_passes() -> None:
    FiniteLossPlugin().before_backward(strategy(3.0, V_p=float("nan")))


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), float("-inf")])
def test_the_terms_that_are_not_finite_are_named(loss: float) -> None:
    spoilt = strategy(loss, V_p=float("inf"), V_s=2.0)
    with pytest.raises(RunError, match=f"{loss} in step 5 of domain 2, due to V_p\n"):
        FiniteLossPlugin().before_backward(spoilt)


def test_else_all_terms_are_shown_with_their_size() -> None:
    with pytest.raises(
        RunError, match=r"due to the loss .* \(V_p 1e\+30, V_s 2\)\nSmaller"
    ):
        FiniteLossPlugin("Smaller!").before_backward(
            strategy(float("nan"), V_p=1e30, V_s=2.0)
        )


def test_another_device_is_not_waited_for_in_every_step() -> None:
    nan = float("nan")
    FiniteLossPlugin().before_backward(strategy(nan, device="cuda", step=4))
    with pytest.raises(RunError):
        FiniteLossPlugin().before_backward(strategy(nan, device="cuda", step=50))


def test_the_model_is_left_as_it_was_before_the_step(
    make_scenario: Callable[..., Any],
    make_model: Callable[[], Any],
    silent: Callable[..., Any],
) -> None:
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e20)
    naive = Naive(
        model=model,
        optimizer=optimizer,
        train_mb_size=16,
        plugins=[FiniteLossPlugin()],
        evaluator=silent(),
    )
    with pytest.raises(
        RunError, match="of domain 1, due to the loss of the mini-batch"
    ):
        naive.train(make_scenario(domains=1).train_stream)
    assert all(torch.isfinite(weights).all() for weights in model.parameters())
