"""Which domain a strategy learns, when it takes several calls of ``train``."""

import weakref
from typing import Any

from udil_avalanche.data.origin import origin_experience


class CurrentDomain:
    """Tells the domains of a strategy apart by the experiences that they come from.

    An experience begins a domain, unless it has the same origin as the one before it:
    the same experience again, or a further part of one that an online stream has split.
    Then the last domain goes on. A domain that returns after another one counts as new,
    and so does one that goes on after a state was loaded.

    A plugin that counts domains has one of these, and calls :meth:`begin` before the
    training on an experience and :meth:`finish` after it. The data are told apart by
    their datasets, of which it keeps none alive.
    """

    def __init__(self) -> None:
        self.goes_on = False
        """Whether the experience in training goes on with the last domain."""
        self.brings_samples = True
        """Whether the domain has not had the samples of this experience before."""
        self.replaces_parts = False
        """Whether the experience is the whole of which the domain had parts before."""
        self._origin: weakref.ref[Any] | None = None
        self._parts: list[weakref.ref[Any]] = []
        self._n_samples = 0
        self._n_begun = 0

    @property
    def n_samples(self) -> int:
        """Samples of the domain, those of the experience in training included."""
        if not self.brings_samples:
            return self._n_samples
        return self._n_begun + (0 if self.replaces_parts else self._n_samples)

    def continues(self, experience: Any) -> bool:
        """Whether an experience would go on with the last domain.

        :param experience: the experience.
        """
        data = origin_experience(experience).dataset
        return self._origin is not None and self._origin() is data

    def begin(self, experience: Any) -> bool:
        """Begin to train on an experience.

        :param experience: the experience.
        :return: whether it goes on with the last domain.
        """
        whole, part = origin_experience(experience).dataset, experience.dataset
        self.goes_on = self.continues(experience)
        if not self.goes_on:
            # If it is interrupted, the domain before it does not go on either.
            self._origin, self._parts, self._n_samples = None, [], 0
        had = [each() for each in self._parts]
        self.brings_samples = not any(each is whole or each is part for each in had)
        self.replaces_parts = self.goes_on and self.brings_samples and part is whole
        self._n_begun = len(part)
        return self.goes_on

    def finish(self, experience: Any) -> None:
        """Count the experience as learned.

        :param experience: the experience.
        """
        self._n_samples, self._n_begun = self.n_samples, 0
        if self.replaces_parts:
            self._parts = []
        self._origin = weakref.ref(origin_experience(experience).dataset)
        self._parts.append(weakref.ref(experience.dataset))

    def forget(self) -> None:
        """Let the next experience begin a domain, whatever it is."""
        self._origin, self._parts, self._n_samples = None, [], 0

    def __reduce__(self) -> tuple[type["CurrentDomain"], tuple[()]]:
        """A copy begins a domain with the next experience."""
        return CurrentDomain, ()
