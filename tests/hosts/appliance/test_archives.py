"""Debian's own archive as it is today, by the machine's mirror: the control for what is recorded. No host is needed."""

from pathlib import Path

from tests.unit.roles.vendors.role_calls import Rack, apt_calls
from tests.vendors.record import ARCHIVES, open_apt, run

DEBIAN = ARCHIVES[0]
NVIDIAS = {"nvidia-driver-cuda", "nvidia-kernel-open-dkms"}
"""Names that NVIDIA's repository alone has."""


def test_debians_own_driver_and_everything_but_nvidias_own_packages_resolve_today(tmp_path: Path) -> None:
    options = open_apt(DEBIAN, tmp_path / "apt")
    simulate = ["apt-get", *options, "--simulate", "--no-install-recommends", "install"]
    shown = run([*simulate, "nvidia-driver", "nvidia-kernel-dkms", "nvidia-persistenced"], tmp_path)
    assert "Inst nvidia-kernel-dkms " in shown and "Inst nvidia-support " in shown
    rack = Rack("Debian", "6.1.0-50-amd64")
    for role in ("mofed", "nvidia_driver", "container_engine"):
        for names in apt_calls(role, rack):
            assert "Inst " in run([*simulate, *(name for name in names if name not in NVIDIAS)], tmp_path)
