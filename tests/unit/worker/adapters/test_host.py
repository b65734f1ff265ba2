"""The fabric that a node is on, from the kernel's own files."""

from pathlib import Path

import pytest

from worker.adapters.host import read_fabric

GID = "fe80:0000:0000:0001:0002:c903:00ab:cdef"


def lay_out(folder: Path, name: str, link_layer: str, state: str) -> None:
    port = folder / name / "ports" / "1"
    (port / "gids").mkdir(parents=True)
    (port / "link_layer").write_text(f"{link_layer}\n")
    (port / "state").write_text(f"{state}\n")
    (port / "gids" / "0").write_text(f"{GID}\n")


@pytest.mark.parametrize(
    ("link_layer", "state", "expected"),
    [
        ("InfiniBand", "4: ACTIVE", "ib-fe80:0000:0000:0001"),
        ("InfiniBand", "1: DOWN", None),
        ("InfiniBand", "2: INIT", None),
        ("Ethernet", "4: ACTIVE", None),
    ],
)
def test_only_an_active_infiniband_port_names_a_fabric(
    tmp_path: Path, link_layer: str, state: str, expected: str | None
) -> None:
    lay_out(tmp_path, "mlx5_0", link_layer, state)
    assert read_fabric(tmp_path) == expected


def test_the_first_active_port_counts(tmp_path: Path) -> None:
    lay_out(tmp_path, "mlx5_0", "InfiniBand", "1: DOWN")
    lay_out(tmp_path, "mlx5_1", "InfiniBand", "4: ACTIVE")
    assert read_fabric(tmp_path) == "ib-fe80:0000:0000:0001"


def test_a_machine_without_cards_is_on_no_fabric(tmp_path: Path) -> None:
    assert read_fabric(tmp_path / "none") is None
