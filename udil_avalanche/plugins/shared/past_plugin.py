"""The base class of the plugins that keep something of the past domains."""

from typing import Any, ClassVar

from udil_avalanche.plugins.shared.current_domain import CurrentDomain
from udil_avalanche.plugins.shared.plugin import Plugin, Strategy


class PastPlugin(Plugin):
    """A plugin that replaces what it keeps of the past after each domain. If the last
    domain goes on, it gets back what it had before that domain.
    """

    of_the_past: ClassVar[tuple[str, ...]] = ()
    """The attributes that describe the past domains."""

    def __init__(self) -> None:
        super().__init__()
        self.domain = CurrentDomain()
        """The domain in training."""
        self._before: dict[str, Any] = {}
        self._after: dict[str, Any] = {}

    def begin_domain(self, strategy: Strategy) -> bool:
        """Begin a domain, or go on with the last one.

        :param strategy: the strategy, before it trains on an experience.
        :return: whether the last domain goes on.
        """
        if self.domain.begin(strategy.experience):
            self._restore(self._before)
            return True
        # The last domain may have been interrupted when it went on.
        self._restore(self._after)
        self._before, self._after = self._past(), {}
        return False

    def finish_domain(self, strategy: Strategy) -> None:
        """Count the domain as past.

        :param strategy: the strategy, after it has trained on an experience.
        """
        self._after = self._past()
        self.domain.finish(strategy.experience)

    def forget_domain(self) -> None:
        """Let the next experience begin a domain, as what is kept was loaded."""
        self._before, self._after = {}, {}
        self.domain.forget()

    def _past(self) -> dict[str, Any]:
        return {name: _shallow(getattr(self, name)) for name in self.of_the_past}

    def _restore(self, past: dict[str, Any]) -> None:
        for name, value in past.items():
            setattr(self, name, _shallow(value))


def _shallow(value: Any) -> Any:
    """A dictionary of its own, with the same values; anything else as it is."""
    return dict(value) if isinstance(value, dict) else value
