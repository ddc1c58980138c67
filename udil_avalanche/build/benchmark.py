"""From settings to benchmarks."""

from collections.abc import Callable
from typing import Any

from udil_avalanche.benchmarks import (
    arrays,
    folders,
    hd_balls,
    permuted_mnist,
    rotated_mnist,
    seq_core50,
)
from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.settings import (
    ArraysSettings,
    FoldersSettings,
    HDBallsSettings,
    ImageSettings,
    PermutedMnistSettings,
    RotatedMnistSettings,
    RunSettings,
    SeqCORe50Settings,
)


def build_benchmark(settings: RunSettings) -> DomainScenario:
    """The benchmark of a run.

    :param settings: the settings of the run.
    """
    benchmark = BENCHMARKS[settings.benchmark](settings)
    n_domains = len(benchmark.train_stream)
    if 0 < settings.memory < n_domains:
        raise ValueError(
            f"memory={settings.memory}: too small for one sample of each of "
            f"{n_domains} domains"
        )
    return benchmark


def _hd_balls(settings: HDBallsSettings) -> DomainScenario:
    if settings.train_per_domain is None:
        sizes = {}
    else:
        sizes = {"train_per_domain": settings.train_per_domain}
    return hd_balls(
        domains=settings.domains,
        **sizes,
        test_per_domain=settings.test_per_domain,
        dimensions=settings.dimensions,
        sigma=settings.sigma,
        validation=settings.validation,
        seed=settings.seed,
    )


def _permuted_mnist(settings: PermutedMnistSettings) -> DomainScenario:
    return permuted_mnist(
        settings.data,
        domains=settings.domains,
        train_per_domain=settings.train_per_domain,
        validation=settings.validation,
        seed=settings.seed,
    )


def _rotated_mnist(settings: RotatedMnistSettings) -> DomainScenario:
    return rotated_mnist(
        settings.data,
        domains=settings.domains,
        train_per_domain=settings.train_per_domain,
        per_image_angles=settings.per_image_angles,
        validation=settings.validation,
        seed=settings.seed,
    )


def _seq_core50(settings: SeqCORe50Settings) -> DomainScenario:
    return seq_core50(
        settings.data,
        domains=settings.domains,
        objects=settings.objects,
        **_of_images(settings),
    )


def _folders(settings: FoldersSettings) -> DomainScenario:
    return folders(
        settings.data,
        order=settings.order,
        domains=settings.domains,
        **_of_images(settings),
    )


def _of_images(settings: ImageSettings) -> dict[str, Any]:
    return {
        "image_size": settings.image_size,
        "test_share": settings.test_share,
        "stratified": settings.stratified,
        "train_per_domain": settings.train_per_domain,
        "validation": settings.validation,
        "check": settings.check,
        "skip_bad": settings.skip_bad,
        "seed": settings.seed,
    }


def _arrays(settings: ArraysSettings) -> DomainScenario:
    return arrays(
        settings.data,
        order=settings.order,
        domains=settings.domains,
        test_share=settings.test_share,
        stratified=settings.stratified,
        train_per_domain=settings.train_per_domain,
        validation=settings.validation,
        skip_bad=settings.skip_bad,
        seed=settings.seed,
    )


BENCHMARKS: dict[str, Callable[..., DomainScenario]] = {
    "hd_balls": _hd_balls,
    "permuted_mnist": _permuted_mnist,
    "rotated_mnist": _rotated_mnist,
    "seq_core50": _seq_core50,
    "folders": _folders,
    "arrays": _arrays,
}


__all__ = ["BENCHMARKS", "build_benchmark"]
