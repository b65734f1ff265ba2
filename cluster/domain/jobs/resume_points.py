"""The checkpoint with which the next attempt of a job begins."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ResumePoint:
    """A complete checkpoint that an earlier attempt has left; `epoch` is how many it had finished."""

    attempt: int
    file: str
    epoch: float
    step: int | None = None

    @property
    def key(self) -> str:
        """As rows keep it: `<attempt number>/<file name>`."""
        return f"{self.attempt}/{self.file}"


def parse_resume_key(text: str) -> tuple[int, str] | None:
    """Attempt number and file name; None for what is no such key."""
    number, _, file = text.partition("/")
    return (int(number), file) if number.isdigit() and file and "/" not in file else None
