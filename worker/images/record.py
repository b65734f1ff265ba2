"""What is known of a built image, as JSON beside its archive; the portal shows exactly this."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from worker.environments.ready import Content
from worker.environments.wheels import write_whole


@dataclass(frozen=True)
class Record:
    name: str
    variant: str
    tag: str
    digest: str
    """Of the manifest: a registry gives out exactly this image by it."""
    size: int
    """Bytes that are pulled."""
    system: str
    """The distribution below, as debian-12."""
    made_at: datetime
    contents: tuple[Content, ...]

    @property
    def reference(self) -> str:
        return f"{self.name}:{self.tag}"

    def to_data(self) -> dict[str, Any]:
        return {**asdict(self), "made_at": self.made_at.isoformat()}


def record_path(archive: Path) -> Path:
    return archive.with_suffix(".json")


def write_record(archive: Path, record: Record) -> None:
    write_whole(record_path(archive), json.dumps(record.to_data(), indent=1, sort_keys=True).encode())
    record_path(archive).chmod(0o644)


def read_record(archive: Path) -> Record | None:
    """None where the archive is not there or was not finished: the record is written last."""
    try:
        read = json.loads(record_path(archive).read_text())
        contents = tuple(Content(**each) for each in read["contents"])
        made_at = datetime.fromisoformat(read["made_at"])
        record = Record(**{**read, "contents": contents, "made_at": made_at})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if archive.is_file() else None
