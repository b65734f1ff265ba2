"""A host's network interfaces by what they are for: from the inventory's words and from what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PURPOSES = ("management", "training", "infiniband")


class UnknownPurpose(ValueError):
    """groundcrew_interfaces has a word that is none of the purposes."""


def named_interfaces(named: Mapping[str, Any]) -> dict[str, list[str]]:
    """What the inventory names, as lists. Raises UnknownPurpose.

    >>> named_interfaces({"training": "ens1f0"})
    {'training': ['ens1f0']}
    """
    unknown = sorted(set(named) - set(PURPOSES))
    if unknown:
        raise UnknownPurpose(
            f"groundcrew_interfaces has {', '.join(unknown)}; its words are {', '.join(PURPOSES)}. "
            "Correct it in the inventory."
        )
    return {
        purpose: [names] if isinstance(names, str) else list(names)
        for purpose, names in named.items()
        if names
    }


def interfaces_by_purpose(
    named: Mapping[str, Any], default_route: str, rdma: Sequence[Mapping[str, Any]]
) -> dict[str, list[str]]:
    """Each purpose with its interfaces, in the inventory's words or by itself.

    Management is where the default route goes; InfiniBand is what the cards have, in the order of the PCI bus; what
    trainings meet over by TCP is the management's interface where nothing else is named.
    """
    found = {
        "management": [default_route] if default_route else [],
        "infiniband": [each["name"] for each in rdma if each["kind"] == "infiniband"],
    } | named_interfaces(named)
    found.setdefault("training", found["management"])
    return {purpose: found[purpose] for purpose in PURPOSES}


class FilterModule:
    """The names under which playbooks call them."""

    def filters(self) -> dict[str, Any]:
        return {"named_interfaces": named_interfaces, "interfaces_by_purpose": interfaces_by_purpose}
