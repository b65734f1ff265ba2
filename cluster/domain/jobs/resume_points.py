"""The checkpoint with which the next attempt of a job begins: its own, or that of another job that it continues."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ResumePoint:
    """A complete checkpoint of an earlier attempt. `epoch` is the number of epochs that it had finished.

    `job` is None for an attempt of the same job.
    """

    attempt: int
    file: str
    epoch: float
    step: int | None = None
    job: int | None = None

    @property
    def key(self) -> str:
        """The key in rows: `<attempt number>/<file name>`."""
        return f"{self.attempt}/{self.file}"


def parse_resume_key(text: str) -> tuple[int, str] | None:
    """The attempt number and the file name. None if the text is no such key."""
    number, _, file = text.partition("/")
    return (int(number), file) if number.isdigit() and file and "/" not in file else None
