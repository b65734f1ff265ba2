"""A default container image and the versions of the libraries in it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

VARIANTS = ("cpu", "cuda")


@dataclass(frozen=True)
class LibraryVersion:
    """A line of a table of contents; `purpose` is a code with words."""

    library: str
    version: str
    purpose: str

    @property
    def line(self) -> tuple[str, str, str]:
        return self.library, self.version, self.purpose


@dataclass(frozen=True)
class DefaultImage:
    """A default image. Nobody can change one in the portal; a repair puts it back where it is lost."""

    name: str
    variant: str
    tag: str
    digest: str
    """Of its manifest: by this name a registry gives out exactly this image."""
    size: int
    """Bytes that are pulled."""
    system: str
    """The distribution below, as debian-12."""
    made_at: datetime
    contents: tuple[LibraryVersion, ...]
    registry: str = ""
    """Where nodes pull it from; empty where no registry has it."""

    @property
    def reference(self) -> str:
        """What a node pulls; without a registry the name that is in the archive."""
        if self.registry:
            return f"{self.registry}/{self.name}@{self.digest}"
        return f"{self.name}:{self.tag}"

    def to_data(self) -> dict[str, Any]:
        """As JSON gives it back."""
        contents = [asdict(part) for part in self.contents]
        return {**asdict(self), "made_at": self.made_at.isoformat(), "contents": contents}


def parse_default_image(read: Mapping[str, Any]) -> DefaultImage:
    """As the builder wrote it. Raises KeyError, TypeError, ValueError."""
    if read["variant"] not in VARIANTS:
        raise ValueError(f"no such variant: {read['variant']}")
    return DefaultImage(
        **{
            **read,
            "made_at": datetime.fromisoformat(read["made_at"]),
            "contents": tuple(LibraryVersion(**part) for part in read["contents"]),
        }
    )
