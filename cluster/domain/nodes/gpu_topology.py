"""Group the GPUs of a node that reach each other over NVLink or one PCIe switch."""

from collections.abc import Iterable, Mapping, Sequence

LinkedPair = tuple[str, str]


def find_gpu_islands(
    identities: Sequence[str], nvlinks: Iterable[LinkedPair], switches: Iterable[LinkedPair]
) -> Mapping[str, str]:
    """Island by identity: `nvlink-0`, `pcie-1` …, numbered in the order of the GPUs.

    NVLink counts if a GPU has any; PCIe switches connect the others. A GPU without connections is on no island.
    """
    by_nvlink = _groups(identities, nvlinks)
    linked = {identity for group in by_nvlink for identity in group}
    rest = [identity for identity in identities if identity not in linked]
    by_switch = _groups(rest, (pair for pair in switches if not linked & set(pair)))
    return {
        identity: f"{kind}-{number}"
        for kind, groups in (("nvlink", by_nvlink), ("pcie", by_switch))
        for number, group in enumerate(groups)
        for identity in group
    }


def _groups(identities: Sequence[str], pairs: Iterable[LinkedPair]) -> list[list[str]]:
    """Groups of connected GPUs, without those that have no connection."""
    leader = {identity: identity for identity in identities}
    for one, other in pairs:
        old, new = leader[other], leader[one]
        leader = {identity: new if now == old else now for identity, now in leader.items()}
    groups: dict[str, list[str]] = {}
    for identity in identities:
        groups.setdefault(leader[identity], []).append(identity)
    return [group for group in groups.values() if len(group) > 1]
