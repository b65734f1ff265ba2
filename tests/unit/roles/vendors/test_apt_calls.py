"""Every call of apt of the hardware's roles is resolved by apt itself against what the vendors' archives say."""

from pathlib import Path

import pytest

from tests.unit.roles.vendors.role_calls import B200, HGX, ROLES, Rack, apt_calls, apt_tasks, preferences
from tests.vendors.private_apt import AptVerdict, PrivateApt
from tests.vendors.stanzas import ASSUMED, list_files, read_stanzas
from worker.bundle.sources import read_bundle_sources

DEBIAN, UBUNTU = "Debian", "Ubuntu"
BOOKWORM, CLOUD = "6.1.0-50-amd64", "6.1.0-50-cloud-amd64"
GA, HWE, NVIDIAS, NVIDIAS_HWE = (
    "6.8.0-45-generic",
    "6.17.0-14-generic",
    "6.8.0-1021-nvidia",
    "6.17.0-1008-nvidia",
)
ARCHIVES = {
    DEBIAN: {"Debian": "debian-bookworm", "NVIDIA": "nvidia-debian12", "toolkit": "libnvidia-container"},
    UBUNTU: {"Ubuntu": "ubuntu-noble", "NVIDIA": "nvidia-ubuntu2404", "toolkit": "libnvidia-container"},
}
BASES = {DEBIAN: "debian-bookworm-base", UBUNTU: "ubuntu-noble-base"}
DOCA = {DEBIAN: "doca-debian12", UBUNTU: "doca-ubuntu2404"}


def open_apt(folder: Path, rack: Rack, pinned: str = "") -> PrivateApt:
    """The archives that the roles know on such a host, with the preferences that they write there."""
    repositories = {origin: read_stanzas(name) for origin, name in ARCHIVES[rack.distribution].items()}
    if rack.stack == "doca_ofed":
        repositories["DOCA"] = read_stanzas(DOCA[rack.distribution])
    return PrivateApt(
        folder, repositories, read_stanzas(BASES[rack.distribution]), pinned or written_preferences(rack)
    )


def written_preferences(rack: Rack) -> str:
    parts = [preferences("nvidia_container_toolkit", "preferences", rack)]
    if rack.distribution == DEBIAN:
        parts.append(preferences("nvidia_driver", "preferences", rack))
    else:
        parts.append(preferences("fabric_manager", "preferences", rack))
    return "\n".join(parts)


def driver_of(verdict: AptVerdict) -> set[str]:
    """Branches, as 580, of everything of the driver that would be installed."""
    own = ("nvidia-", "libnvidia-", "libcuda", "libnv", "firmware-nvidia", "cuda-drivers")
    others = (
        "nvidia-container-",
        "libnvidia-container",
        "nvidia-support",
        "nvidia-installer-cleanup",
        "libnvme",
    )
    return {
        version.split(".")[0]
        for name, version in verdict.installed.items()
        if name.startswith(own) and not name.startswith(others)
    }


RACKS = [
    Rack(DEBIAN, BOOKWORM, driver="580.126.20"),
    Rack(DEBIAN, CLOUD, driver="580.126.20"),
    Rack(DEBIAN, BOOKWORM, chosen="proprietary", driver="580.126.20"),
    Rack(DEBIAN, BOOKWORM, version="580.105.08", driver="580.105.08"),
    Rack(DEBIAN, BOOKWORM, pci=tuple(B200), stack="doca_ofed", driver="580.126.20"),
    Rack(UBUNTU, GA, driver="580.178.04"),
    Rack(UBUNTU, GA, chosen="proprietary", driver="580.178.04"),
    Rack(UBUNTU, HWE, driver="580.178.04"),
    Rack(UBUNTU, NVIDIAS, driver="580.178.04"),
    Rack(UBUNTU, NVIDIAS_HWE, pci=tuple(B200), driver="580.178.04"),
    Rack(UBUNTU, "6.8.0-149-lowlatency", driver="580.178.04"),
]


@pytest.mark.parametrize(
    "rack", RACKS, ids=lambda rack: f"{rack.distribution}-{rack.kernel}-{rack.chosen}-{rack.stack}"
)
def test_apt_finds_every_package_that_the_roles_ask_for(tmp_path: Path, rack: Rack) -> None:
    apt = open_apt(tmp_path / "apt", rack)
    for role in ROLES:
        for names in apt_calls(role, rack):
            wanted = [name for name in names if name != f"linux-headers-{rack.kernel}"]
            verdict = apt.simulate(wanted)
            assert verdict.is_possible, f"{role}: {' '.join(wanted)}\n{verdict.message}"
            assert driver_of(verdict) <= {"580"}, f"{role}: {verdict.installed}"


@pytest.mark.parametrize(
    ("rack", "build"),
    [
        (Rack(DEBIAN, BOOKWORM), "580.126.20-1"),
        (Rack(DEBIAN, BOOKWORM, version="580.105.08"), "580.105.08-1"),
        (Rack(UBUNTU, GA), "580.178.04-0ubuntu0.24.04.1"),
    ],
)
def test_all_of_the_driver_is_of_one_build(tmp_path: Path, rack: Rack, build: str) -> None:
    (names,) = apt_calls("nvidia_driver", rack)
    verdict = open_apt(tmp_path / "apt", rack).simulate(names)
    lead = {DEBIAN: "libcuda1", UBUNTU: "libnvidia-compute-580-server"}[rack.distribution]
    assert verdict.installed[lead] == build, verdict.message


@pytest.mark.parametrize(
    ("kernel", "module"),
    [
        (GA, "linux-modules-nvidia-580-server-open-6.8.0-151-generic"),
        (HWE, "linux-modules-nvidia-580-server-open-7.0.0-43-generic"),
        (NVIDIAS, "linux-modules-nvidia-580-server-open-6.8.0-1067-nvidia"),
        (NVIDIAS_HWE, "linux-modules-nvidia-580-server-open-7.0.0-1025-nvidia"),
    ],
)
def test_the_module_is_of_the_kernel_that_the_next_start_boots(
    tmp_path: Path, kernel: str, module: str
) -> None:
    rack = Rack(UBUNTU, kernel)
    (names,) = apt_calls("nvidia_driver", rack)
    verdict = open_apt(tmp_path / "apt", rack).simulate(names)
    booted = module.replace("modules-nvidia-580-server-open", "image")
    assert {module, booted} <= set(verdict.installed), verdict.message


def test_the_fabric_manager_is_of_the_drivers_build(tmp_path: Path) -> None:
    for number, (rack, name) in enumerate(
        (
            (Rack(DEBIAN, BOOKWORM, driver="580.105.08"), "nvidia-fabricmanager"),
            (Rack(UBUNTU, GA, driver="580.178.04"), "nvidia-fabricmanager-580"),
        )
    ):
        (names,) = apt_calls("fabric_manager", rack)
        verdict = open_apt(tmp_path / f"{number}", rack).simulate(names)
        assert verdict.installed[name].startswith(rack.driver), verdict.message


def test_boards_of_nvlink_5_get_their_subnet_manager_and_nothing_else_of_nvidias_repository(
    tmp_path: Path,
) -> None:
    rack = Rack(UBUNTU, GA, pci=tuple(B200), driver="580.178.04")
    (names,) = apt_calls("fabric_manager", rack)
    verdict = open_apt(tmp_path / "apt", rack).simulate(names)
    assert verdict.installed["nvlsm"] == "2025.10.14-1"
    (plain,) = apt_calls("fabric_manager", Rack(UBUNTU, GA, pci=tuple(HGX), driver="580.178.04"))
    assert "nvlsm" not in plain


def test_a_bundle_has_the_branch_that_hosts_pin(tmp_path: Path) -> None:
    """The collector's closure, of which a host installs offline; nothing of 590 or 610 may be in it."""
    driver = read_bundle_sources().vendors["debian"]["nvidia_driver"]
    apt = open_apt(tmp_path / "apt", Rack(DEBIAN, BOOKWORM), pinned=driver.preferences)
    verdict = apt.simulate(driver.packages)
    assert verdict.is_possible and driver_of(verdict) == {"580"}, verdict.message
    without = open_apt(tmp_path / "unpinned", Rack(DEBIAN, BOOKWORM), pinned="# none\n")
    assert driver_of(without.simulate(driver.packages)) == {"610"}


OLD_PIN = (
    "Package: nvidia-[!c]* nvidia-compute-* libnvidia-[!c]* libnvidia-c[!o]* libnvidia-com* cuda-drivers*"
    " firmware-nvidia-* xserver-xorg-video-nvidia*\nPin: version 580.105.08-1\nPin-Priority: 1001\n"
)


@pytest.mark.parametrize(
    ("distribution", "pinned", "names", "refusal"),
    [
        (DEBIAN, OLD_PIN, ["nvidia-open-580=580.105.08-1"], "libcuda1 (= 580.105.08-1)"),
        (DEBIAN, "", ["nvidia-fabricmanager-580=580.105.08-1"], "'nvidia-fabricmanager-580' was not found"),
        (UBUNTU, "", ["nvidia-utils-580-server=580.173.02-0ubuntu0.24.04.1"], "was not found"),
        (
            UBUNTU,
            "",
            ["nvidia-driver-580-open", "nvidia-headless-no-dkms-580-server-open"],
            "nvidia-kernel-common-580-server (>= 580.178.04)",
        ),
        (DEBIAN, "", ["doca-ofed=3.2.2-1"], "'doca-ofed' was not found"),
    ],
)
def test_the_recorded_archives_refuse_what_the_real_ones_refuse(
    tmp_path: Path, distribution: str, pinned: str, names: list[str], refusal: str
) -> None:
    """Calls that earlier versions of the roles made, or that a used host would need."""
    rack = Rack(distribution, BOOKWORM, stack="doca_ofed")
    verdict = open_apt(tmp_path / "apt", rack, pinned=pinned or "# none\n").simulate(names)
    assert not verdict.is_possible and refusal in verdict.message, verdict.message


def test_without_a_pin_the_meta_package_of_580_brings_another_branch(tmp_path: Path) -> None:
    """As a person has reported of NVIDIA's repository for Debian (forum-353805)."""
    verdict = open_apt(tmp_path / "apt", Rack(DEBIAN, BOOKWORM), pinned="# none\n").simulate(
        ["cuda-drivers-580"]
    )
    assert verdict.is_possible and "610" in driver_of(verdict), verdict.message


def test_debians_own_driver_resolves_as_the_control(tmp_path: Path) -> None:
    """Recorded from the archive itself: what apt says here it also says there."""
    folder, base = tmp_path / "apt", read_stanzas("debian-bookworm-base")
    apt = PrivateApt(folder, {"Debian": read_stanzas("debian-bookworm")}, base)
    verdict = apt.simulate(["nvidia-driver", "nvidia-kernel-dkms"])
    assert verdict.is_possible and verdict.installed["nvidia-driver"].startswith("535."), verdict.message


def test_every_role_that_calls_apt_is_played() -> None:
    assert {role: len(list(apt_tasks(role))) for role in ROLES} == dict.fromkeys(ROLES, 1)


def test_each_field_has_its_source_and_the_assumed_ones_are_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = []
    for name in list_files():
        fields = [field for stanza in read_stanzas(name) for field in stanza.fields]
        assumed = sum(field.source == ASSUMED for field in fields)
        lines.append(f"{name}: {assumed} of {len(fields)} fields assumed")
        if name.startswith(("debian-", "ubuntu-")):
            assert assumed == 0
    with capsys.disabled():
        print("\n" + "\n".join(lines))
