"""Collect all refusals of one submission, so that a person sees every fault of a form at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from cluster.domain.errors import Refused

Arguments = ParamSpec("Arguments")
Checked = TypeVar("Checked")


class Refusals:
    """The refusals of one submission in the order of its checks; of each field only the first one.

    A form hands its own to the service, with None for each value that had not even the right shape.
    """

    def __init__(self) -> None:
        self.by_field: dict[str, Refused] = {}

    def add(self, refusal: Refused) -> None:
        for each in refusal.each:
            self.by_field.setdefault(each.field, each)

    def check(
        self, check: Callable[Arguments, Checked], *args: Arguments.args, **named: Arguments.kwargs
    ) -> Checked | None:
        """Returns the value of the check; None if it refuses."""
        try:
            return check(*args, **named)
        except Refused as refusal:
            self.add(refusal)
            return None

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Collects the first refusal of a `with` block, which ends there."""
        try:
            yield
        except Refused as refusal:
            self.add(refusal)

    def require(self, field: str, value: Checked | None) -> Checked | None:
        """The value; a missing one is refused unless the form has refused it already."""
        if value is None:
            self.add(Refused(field, "value.missing"))
        return value

    def raise_all(self) -> None:
        """Raises the first refusal, which has the others with it. Does nothing if there is none."""
        if self.by_field:
            first, *others = self.by_field.values()
            raise first.with_others(others)
