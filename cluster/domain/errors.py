"""One error tree, three kinds: the user can change something, something outside is down, or it is a bug."""

from typing import Any


class GroundcrewError(Exception):
    """A state of the world that the product knows; `cluster.words` says it in both languages."""

    def __init__(self, code: str, **data: Any) -> None:
        super().__init__(code, data)
        self.code = code
        self.data = data

    def __str__(self) -> str:
        facts = ", ".join(f"{key}={value!r}" for key, value in self.data.items())
        return f"{self.code}({facts})"


class Refused(GroundcrewError):
    """The user can change something: names the field and the code of the reason; never retried."""

    def __init__(self, field: str, code: str, **data: Any) -> None:
        super().__init__(code, **data)
        self.field = field


class NotFound(GroundcrewError):
    """No such thing, or not for this person: both look the same from outside."""

    def __init__(self, kind: str, identity: object = None) -> None:
        super().__init__("not_found." + kind, id=identity)
        self.kind = kind


class Forbidden(GroundcrewError):
    """The person may see this but not do it; the data says who may."""


class Conflict(GroundcrewError):
    """Somebody else changed it first, or it is no longer in the state that the request was made for."""


class Gone(GroundcrewError):
    """It was there, and somebody who may has deleted it: the data say who and when."""


class Unavailable(GroundcrewError):
    """Something outside is down or missing; the same request may succeed later."""
