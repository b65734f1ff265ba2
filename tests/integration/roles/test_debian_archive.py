"""Debian's own non-free driver, asked of its archive itself: the control of what is recorded of archives."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.roles.vendors.role_calls import Rack, preferences
from tests.vendors.private_apt import INSTALLED, PrivateApt
from tests.vendors.record import ARCHIVES, OF_INTEREST, open_apt
from tests.vendors.stanzas import read_stanzas

DRIVER = ("nvidia-driver", "nvidia-kernel-dkms", "nvidia-smi", "nvidia-persistenced")
DEBIAN = next(archive for archive in ARCHIVES if archive.name == "debian-bookworm")
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Sequence[str]:
    """Those of an apt that has fetched and checked today's lists."""
    folder = tmp_path_factory.mktemp("archive")
    try:
        return open_apt(DEBIAN, folder)
    except SystemExit as refusal:
        if "Could not resolve" in str(refusal) or "Could not connect" in str(refusal):
            pytest.skip(f"Debian's archive cannot be asked from here: {str(refusal)[-200:]}")
        raise


def ask(options: Sequence[str], folder: Path, *words: str) -> str:
    command = ["apt-get", *options, *words]
    environment = {"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def test_the_archive_installs_what_its_recorded_stanzas_do(options: Sequence[str], tmp_path: Path) -> None:
    """Versions move on with each point release; the packages and the branch are the same."""
    simulate = ("--simulate", "--no-install-recommends", "install", *DRIVER)
    live = dict(INSTALLED.findall(ask(options, tmp_path, *simulate)))
    recorded = PrivateApt(
        tmp_path / "apt", {"Debian": read_stanzas("debian-bookworm")}, read_stanzas("debian-bookworm-base")
    ).simulate(DRIVER)
    assert recorded.is_possible, recorded.message
    of_interest = {name for name in live if OF_INTEREST.fullmatch(name)}
    assert of_interest == {name for name in recorded.installed if OF_INTEREST.fullmatch(name)}
    assert {live[name].split(".")[0] for name in DRIVER[:3]} == {"535"}


def test_the_pin_of_nvidias_branch_leaves_debians_own_driver_alone(
    options: Sequence[str], tmp_path: Path
) -> None:
    """A host whose administrator has chosen it keeps it: the roles pin by source and version, not by name alone."""
    pin = tmp_path / "preferences"
    pin.write_text(preferences("nvidia_driver", "preferences", Rack("Debian", "6.1.0-50-amd64")))
    pinned = ["-o", f"Dir::Etc::Preferences={pin}"]
    shown = ask([*options, *pinned], tmp_path, "--simulate", "--no-install-recommends", "install", *DRIVER)
    assert dict(INSTALLED.findall(shown))["nvidia-driver"].startswith("535.")


def test_what_the_archive_sends_is_signed_and_has_the_program(options: Sequence[str], tmp_path: Path) -> None:
    ask(options, tmp_path, "download", "nvidia-smi")
    (package,) = tmp_path.glob("nvidia-smi_535*.deb")
    listed = subprocess.run(
        ["dpkg-deb", "--contents", str(package)], capture_output=True, text=True, check=True
    ).stdout
    assert "./usr/lib/nvidia/current/nvidia-smi" in listed
