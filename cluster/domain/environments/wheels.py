"""Check the names of wheels that an administrator uploads for environments."""

from dataclasses import dataclass

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from cluster.domain.errors import Refused

FIELD = "wheels"
LONGEST_NAME = 240
SHOWN = 80


@dataclass(frozen=True)
class WheelName:
    """The parts of a wheel's name. `tags` are those of Python and platform, as `cp311-manylinux_2_17_x86_64`."""

    package: str
    version: str
    tags: str


def parse_wheel_name(name: str) -> WheelName:
    """Raises Refused on `wheels`."""
    shown = "".join(character if character.isprintable() else "\ufffd" for character in name)[:SHOWN]
    if len(name) > LONGEST_NAME or not name.isascii() or "/" in name:
        raise Refused(FIELD, "environment.wheel_name", name=shown)
    try:
        package, version, _, _ = parse_wheel_filename(name)
    except InvalidWheelFilename:
        raise Refused(FIELD, "environment.wheel_name", name=shown) from None
    python, _, platform = name.removesuffix(".whl").split("-")[-3:]
    return WheelName(canonicalize_name(package), str(version), f"{python}-{platform}")
