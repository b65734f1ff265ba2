"""The interfaces of a node are its cards and bridges; the ends of containers are not among them."""

from pathlib import Path

import pytest

from worker.adapters.host import is_container_end, read_interface_purposes


@pytest.mark.parametrize(
    ("has", "expected"),
    [
        ((), False),  # A bridge itself, a tunnel.
        (("device",), False),
        (("brport",), True),
        (("brport", "device"), False),  # A card that a site has put into a bridge.
    ],
)
def test_a_port_of_a_bridge_without_a_card_leads_into_a_container(
    tmp_path: Path, has: tuple[str, ...], expected: bool
) -> None:
    for name in has:
        (tmp_path / "veth1" / name).mkdir(parents=True)
    assert is_container_end("veth1", tmp_path) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"training": ["ens1"]}', {"training": ["ens1"]}),
        ("[]", {}),
        ("{", {}),
        (None, {}),
    ],
)
def test_the_agent_reports_what_the_installer_wrote_of_interfaces(
    tmp_path: Path, text: str | None, expected: dict[str, list[str]]
) -> None:
    path = tmp_path / "interfaces.json"
    if text is not None:
        path.write_text(text)
    assert read_interface_purposes(path) == expected
