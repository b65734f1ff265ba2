"""The tree of errors has three kinds: the user can change something, something outside is down, or there is a bug."""

from collections.abc import Sequence
from typing import Any, Self


class GroundcrewError(Exception):
    """A state of the world that the product knows. `cluster.words` has its sentence in both languages."""

    def __init__(self, code: str, **data: Any) -> None:
        super().__init__(code, data)
        self.code = code
        self.data = data

    def __str__(self) -> str:
        facts = ", ".join(f"{key}={value!r}" for key, value in self.data.items())
        return f"{self.code}({facts})"


class Refused(GroundcrewError):
    """The user can change something. The error names the field and the code of the reason, and is never retried."""

    def __init__(self, field: str, code: str, **data: Any) -> None:
        super().__init__(code, **data)
        self.field = field
        self.others: tuple[Refused, ...] = ()

    @property
    def each(self) -> tuple["Refused", ...]:
        """This refusal and those of other fields of the same submission."""
        return (self, *self.others)

    def with_others(self, others: Sequence["Refused"]) -> Self:
        """Returns this refusal, which speaks for the others too."""
        self.others = tuple(others)
        return self


class NotFound(GroundcrewError):
    """There is no such thing, or this person may not see it. The two look the same from outside."""

    def __init__(self, kind: str, identity: object = None) -> None:
        super().__init__("not_found." + kind, id=identity)
        self.kind = kind


class Forbidden(GroundcrewError):
    """The person may see the thing but not do this. The data say who may."""


class Conflict(GroundcrewError):
    """Somebody else changed the thing first, or it is no longer in the state for which the request was made."""


class Gone(GroundcrewError):
    """The thing was deleted by a person who may do so. The data say who and when."""


class Unavailable(GroundcrewError):
    """Something outside is down or missing. The same request may succeed later."""
