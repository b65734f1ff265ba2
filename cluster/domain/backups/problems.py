"""The faults of a backup or of its copy, as codes with data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class BackupProblem:
    """A defect of a backup or of its copy. `code` has words in both languages."""

    code: str
    data: Mapping[str, Any] = field(default_factory=dict)


def parse_backup_problem(value: Any) -> BackupProblem | None:
    """Parses the problem in a manifest or a row. Returns None if there is none. The oldest manifests have a text.

    Raises KeyError, TypeError.
    """
    if not value:
        return None
    if isinstance(value, str):
        return BackupProblem("broken.said", {"said": value})
    return BackupProblem(str(value["code"]), dict(value["data"]))
