"""Every equation against a slow version of it, with loops and without tricks."""

import math

import pytest
import torch
from torch import Tensor

from udil_avalanche.losses import (
    classification_loss,
    cross_entropy_divergence,
    discriminator_loss,
    distillation_loss,
    embedding_distillation_loss,
    empirical_divergence,
    encoder_alignment_loss,
    model_loss,
    objective,
    supcon_loss,
)
from udil_avalanche.theory.coefficients import Omega
from udil_avalanche.theory.domains import domain_means, domain_weights

N_CLASSES = 4
N_PAST = 3
DOMAINS = torch.tensor([0, 0, 1, 2, 2, 2, 0])
N_CURRENT = 5
N = N_CURRENT + len(DOMAINS)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def random_omega() -> Omega:
    return Omega(*torch.rand(N_PAST, 3).softmax(dim=1).unbind(dim=1))


def probabilities(logits: Tensor) -> list[list[float]]:
    rows = []
    for row in logits.tolist():
        exponentials = [math.exp(value) for value in row]
        rows.append([value / sum(exponentials) for value in exponentials])
    return rows


def slow_classification(logits: Tensor, labels: Tensor) -> float:
    h = probabilities(logits)
    losses = [-math.log(h[x][y]) for x, y in enumerate(labels.tolist())]
    return sum(losses) / len(losses)


def slow_distillation(logits: Tensor, history_logits: Tensor) -> float:
    h, history = probabilities(logits), probabilities(history_logits)
    losses = [
        -sum(history[x][j] * math.log(h[x][j]) for j in range(len(h[x])))
        for x in range(len(h))
    ]
    return sum(losses) / len(losses)


def test_classification_loss() -> None:
    logits, labels = torch.randn(6, N_CLASSES), torch.randint(N_CLASSES, (6,))
    expected = slow_classification(logits, labels)
    assert classification_loss(logits, labels).item() == pytest.approx(expected)


def test_distillation_loss_and_its_constant_teacher() -> None:
    logits = torch.randn(6, N_CLASSES, requires_grad=True)
    history = torch.randn(6, N_CLASSES, requires_grad=True)
    loss = distillation_loss(logits, history)
    assert loss.item() == pytest.approx(slow_distillation(logits, history))
    loss.backward()
    assert history.grad is None
    teacher, student = history.softmax(1), logits.softmax(1)
    torch.testing.assert_close(logits.grad, ((student - teacher) / 6).detach())


def slow_model_loss(
    logits: Tensor, labels: Tensor, history: Tensor, omega: Omega
) -> float:
    current, past = slice(None, N_CURRENT), slice(N_CURRENT, None)
    total = slow_classification(logits[current], labels[current])
    total += float(sum(omega.beta)) * slow_distillation(
        logits[current], history[current]
    )
    for i in range(N_PAST):
        mine = i == DOMAINS
        total += float(omega.gamma[i]) * slow_classification(
            logits[past][mine], labels[past][mine]
        )
        total += float(omega.alpha[i]) * slow_distillation(
            logits[past][mine], history[past][mine]
        )
    return total


def test_model_loss() -> None:
    logits, history = torch.randn(2, N, N_CLASSES)
    labels, omega = torch.randint(N_CLASSES, (N,)), random_omega()
    loss = model_loss(
        logits=logits,
        labels=labels,
        domains=DOMAINS,
        history_logits=history,
        omega=omega,
    )
    expected = slow_model_loss(logits, labels, history, omega)
    assert loss.total.item() == pytest.approx(expected)
    assert loss.total.item() == pytest.approx(sum(loss).item())


@pytest.mark.parametrize(("margin", "kept"), [(1e-3, True), (-1e-3, False)])
def test_cross_domain_term_is_switched_off_above_the_threshold(
    margin: float, kept: bool
) -> None:
    logits = torch.randn(N, N_CLASSES, requires_grad=True)
    history, omega = torch.randn(N, N_CLASSES), random_omega()
    cross = slow_distillation(logits[:N_CURRENT], history[:N_CURRENT])
    loss = model_loss(
        logits=logits,
        labels=torch.randint(N_CLASSES, (N,)),
        domains=DOMAINS,
        history_logits=history,
        omega=omega,
        cross_domain_threshold=cross + margin,
    )
    expected = float(omega.beta.sum()) * cross if kept else 0.0
    assert loss.cross_domain.item() == pytest.approx(expected)
    (gradient,) = torch.autograd.grad(loss.cross_domain, logits)
    assert bool(gradient.abs().sum() > 0) is kept


def slow_discriminator_loss(domain_logits: Tensor, beta: Tensor) -> float:
    d = probabilities(domain_logits)
    current = [-math.log(d[x][N_PAST]) for x in range(N_CURRENT)]
    total = float(sum(beta)) * sum(current) / N_CURRENT
    for i in range(N_PAST):
        mine = [N_CURRENT + k for k, domain in enumerate(DOMAINS) if domain == i]
        past = [-math.log(d[x][i]) for x in mine]
        total += float(beta[i]) * sum(past) / len(past)
    return total


def test_discriminator_loss() -> None:
    domain_logits, beta = torch.randn(N, N_PAST + 1), torch.rand(N_PAST)
    loss = discriminator_loss(domain_logits, DOMAINS, beta)
    assert loss.item() == pytest.approx(slow_discriminator_loss(domain_logits, beta))


def test_encoder_alignment_is_minus_the_discriminators_loss() -> None:
    discriminator, beta = torch.nn.Linear(6, N_PAST + 1), torch.rand(N_PAST)
    embeddings = torch.randn(N, 6, requires_grad=True)
    direct = -discriminator_loss(discriminator(embeddings), DOMAINS, beta)
    (expected,) = torch.autograd.grad(direct, embeddings)

    leaf = embeddings.detach().requires_grad_()
    value = discriminator_loss(discriminator(leaf), DOMAINS, beta)
    (gradient,) = torch.autograd.grad(value, leaf)
    loss = encoder_alignment_loss(embeddings, value, gradient)
    (actual,) = torch.autograd.grad(loss, embeddings)

    assert loss.item() == pytest.approx(direct.item())
    torch.testing.assert_close(actual, expected)


def slow_divergence(domain_logits: Tensor) -> list[float]:
    d = probabilities(domain_logits)
    divergences = []
    for i in range(N_PAST):
        mine = [N_CURRENT + k for k, domain in enumerate(DOMAINS) if domain == i]
        missed = sum(d[x][i] < d[x][N_PAST] for x in mine) / len(mine)
        taken = sum(d[x][i] >= d[x][N_PAST] for x in range(N_CURRENT)) / N_CURRENT
        divergences.append(max(0.0, 2 - 2 * (missed + taken)))
    return divergences


def test_empirical_divergence() -> None:
    for _ in range(20):
        domain_logits = torch.randn(N, N_PAST + 1)
        actual = empirical_divergence(domain_logits, DOMAINS, N_PAST)
        assert actual.tolist() == pytest.approx(slow_divergence(domain_logits))


def test_divergence_of_a_perfect_and_of_a_useless_discriminator() -> None:
    truth = torch.cat([torch.full((N_CURRENT,), N_PAST), DOMAINS])
    perfect = torch.nn.functional.one_hot(truth).float()
    assert empirical_divergence(perfect, DOMAINS, N_PAST).tolist() == [2, 2, 2]
    useless = torch.zeros(N, N_PAST + 1)
    assert empirical_divergence(useless, DOMAINS, N_PAST).tolist() == [0, 0, 0]


def test_cross_entropy_divergence() -> None:
    domain_logits, beta = torch.randn(N, N_PAST + 1), torch.rand(N_PAST)
    d = probabilities(domain_logits)
    expected = 0.0
    for i in range(N_PAST):
        mine = [N_CURRENT + k for k, domain in enumerate(DOMAINS) if domain == i]
        past = sum(-math.log(d[x][i]) for x in mine) / len(mine)
        current = sum(-math.log(d[x][N_PAST]) for x in range(N_CURRENT)) / N_CURRENT
        expected += 2 * float(beta[i]) * (1 - past - current)
    actual = cross_entropy_divergence(domain_logits, DOMAINS, beta)
    assert actual.item() == pytest.approx(expected)


def test_both_divergences_of_a_certain_discriminator() -> None:
    truth = torch.cat([torch.full((N_CURRENT,), N_PAST), DOMAINS])
    certain = 100 * torch.nn.functional.one_hot(truth).float()
    beta = torch.rand(N_PAST)
    by_errors = beta @ empirical_divergence(certain, DOMAINS, N_PAST)
    torch.testing.assert_close(
        cross_entropy_divergence(certain, DOMAINS, beta), by_errors
    )


def test_embedding_distillation_loss() -> None:
    embeddings, history = torch.randn(2, len(DOMAINS), 6)
    expected = 0.0
    for i in range(N_PAST):
        mine = [k for k, domain in enumerate(DOMAINS) if domain == i]
        distances = [
            sum((embeddings[k][j] - history[k][j]).item() ** 2 for j in range(6))
            for k in mine
        ]
        expected += sum(distances) / len(distances)
    actual = embedding_distillation_loss(embeddings, history, DOMAINS, N_PAST)
    assert actual.item() == pytest.approx(expected)


def slow_supcon(embeddings: Tensor, labels: Tensor, temperature: float) -> float:
    """In double precision, each denominator by the exact log-sum-exp."""
    e = embeddings.double().tolist()
    y = labels.tolist()

    def similarity(a: int, b: int) -> float:
        distance = sum((u - v) ** 2 for u, v in zip(e[a], e[b], strict=True))
        return -distance / temperature

    losses = []
    for anchor in range(len(y)):
        others = [u for u in range(len(y)) if u != anchor]
        positives = [u for u in others if y[u] == y[anchor]]
        if not positives:
            continue
        terms = [similarity(anchor, u) for u in others]
        top = max(terms)
        denominator = top + math.log(sum(math.exp(term - top) for term in terms))
        losses.append(
            sum(denominator - similarity(anchor, p) for p in positives) / len(positives)
        )
    return sum(losses) / len(losses) if losses else 0.0


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("temperature", [0.07, 1.0])
def test_supcon_loss_at_any_scale(scale: float, temperature: float) -> None:
    embeddings = scale * torch.randn(12, 8) + 5 * scale
    labels = torch.randint(3, (12,))
    expected = slow_supcon(embeddings, labels, temperature)
    actual = supcon_loss(embeddings, labels, temperature).item()
    assert actual == pytest.approx(expected, rel=1e-4)


def test_supcon_of_tight_classes_far_apart() -> None:
    centres, labels = torch.randn(3, 50).double(), torch.arange(12) % 3
    for scale, dtype in ((1, torch.float32), (10, torch.float32), (1e4, torch.float64)):
        noise = 0.05 * torch.randn(12, 50)
        embeddings = (scale * centres[labels] + noise).to(dtype)
        actual = supcon_loss(embeddings, labels).item()
        assert actual == pytest.approx(slow_supcon(embeddings, labels, 1.0), rel=1e-3)


def test_supcon_gradient_is_finite_where_embeddings_coincide() -> None:
    embeddings = torch.ones(4, 8, requires_grad=True)
    supcon_loss(embeddings, torch.tensor([0, 0, 1, 1])).backward()
    assert embeddings.grad is not None and embeddings.grad.isfinite().all()


@pytest.mark.parametrize(
    "labels", [[0, 0, 0, 0], [0, 1, 2, 3], [0, 0, 1, 2]], ids=["one", "all", "some"]
)
def test_supcon_with_few_or_no_pairs(labels: list[int]) -> None:
    embeddings = torch.randn(4, 8, requires_grad=True)
    loss = supcon_loss(embeddings, torch.tensor(labels))
    assert loss.item() == pytest.approx(
        slow_supcon(embeddings, torch.tensor(labels), 1.0), rel=1e-5
    )
    loss.backward()
    assert embeddings.grad is not None and embeddings.grad.isfinite().all()


def test_supcon_of_a_single_sample() -> None:
    embeddings = torch.randn(1, 8, requires_grad=True)
    loss = supcon_loss(embeddings, torch.tensor([0]))
    loss.backward()
    assert loss.item() == 0
    assert embeddings.grad is not None and embeddings.grad.isfinite().all()


def test_domain_means_and_a_domain_without_samples() -> None:
    values = torch.tensor([1.0, 3.0, 5.0])
    means = domain_means(values, torch.tensor([0, 0, 2]), 3)
    assert means.tolist() == [2, 0, 5]


def test_domain_weights_are_unbiased_when_a_batch_misses_domains() -> None:
    values = torch.tensor([2.0, 4.0, 7.0])
    estimates = []
    for first, second in [(0, 1), (0, 2), (1, 2)]:
        domains = torch.tensor([first, second])
        weights = domain_weights(domains, 3)
        estimates.append((weights * values[domains]).sum().item())
    assert sum(estimates) / 3 == pytest.approx(values.sum().item())


@pytest.mark.parametrize(("t", "power"), [(1, 0.5), (4, 0.0), (4, 0.5), (3, 1.0)])
def test_objective(t: int, power: float) -> None:
    V_l, V_d, V_p, V_s = torch.rand(4, requires_grad=True)
    weights = {"lambda_d": 0.5, "lambda_p": 0.03, "lambda_s": 2.0}
    loss = objective(V_l, V_d, V_p, V_s, **weights, t=t, t_power=power)
    expected = V_l.item() - 0.5 * V_d.item() + 0.03 * V_p.item() + 2 * V_s.item()
    assert loss.item() == pytest.approx(expected / t**power)
    slopes = [slope.item() for slope in torch.autograd.grad(loss, [V_l, V_d, V_p, V_s])]
    assert slopes == pytest.approx([k / t**power for k in (1, -0.5, 0.03, 2)])
