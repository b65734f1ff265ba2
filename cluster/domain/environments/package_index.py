"""The places in which pip in a notebook finds packages: the site's index and its folders of wheels."""

from collections.abc import Sequence
from urllib.parse import urlsplit

NO_INDEX = "none"
"""The setting of a site that has only folders of wheels."""


def pip_sources(index: str, folders: Sequence[str]) -> dict[str, str]:
    """Variables of pip. `index` is the setting: an address, `NO_INDEX`, or empty for that of pip itself.

    An index with a password is left out, because every person who opens a notebook could read it.
    """
    found = {"PIP_FIND_LINKS": " ".join(folders)} if folders else {}
    if index == NO_INDEX:
        return found | {"PIP_NO_INDEX": "1"}
    return found | ({"PIP_INDEX_URL": index} if index and not has_password(index) else {})


def has_password(address: str) -> bool:
    return "@" in urlsplit(address).netloc
