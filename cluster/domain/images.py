"""A default container image and the versions of the libraries in it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

VARIANTS = ("cpu", "cuda")


@dataclass(frozen=True)
class LibraryVersion:
    """A line of a table of contents. `purpose` is a code with words."""

    library: str
    version: str
    purpose: str

    @property
    def line(self) -> tuple[str, str, str]:
        return self.library, self.version, self.purpose


@dataclass(frozen=True)
class DefaultImage:
    """A default image. Nobody can change it in the portal. A repair restores it if it is lost."""

    name: str
    variant: str
    tag: str
    digest: str
    """The digest of the manifest, by which a registry identifies exactly this image."""
    size: int
    """The bytes that a node pulls."""
    system: str
    """The distribution in the image, as debian-12."""
    made_at: datetime
    contents: tuple[LibraryVersion, ...]
    registry: str = ""
    """The registry from which nodes pull the image. Empty if no registry has it."""
    gpu_code: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """How each library serves the GPUs of a compute capability (`own`, `by_ptx` or `none`), by capability as `9.0` and
    by library. Empty for an image without code for GPUs, and for one of an earlier release.
    """

    @property
    def reference(self) -> str:
        """The reference that a node pulls, or without a registry the name in the archive."""
        if self.registry:
            return f"{self.registry}/{self.name}@{self.digest}"
        return f"{self.name}:{self.tag}"

    def to_data(self) -> dict[str, Any]:
        """The image as JSON values."""
        contents = [asdict(part) for part in self.contents]
        return {**asdict(self), "made_at": self.made_at.isoformat(), "contents": contents}


def parse_default_image(read: Mapping[str, Any]) -> DefaultImage:
    """Parses the record that the builder wrote. Raises KeyError, TypeError, ValueError."""
    if read["variant"] not in VARIANTS:
        raise ValueError(f"no such variant: {read['variant']}")
    return DefaultImage(
        **{
            **read,
            "made_at": datetime.fromisoformat(read["made_at"]),
            "contents": tuple(LibraryVersion(**part) for part in read["contents"]),
        }
    )
