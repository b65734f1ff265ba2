"""Files that a build script left are taken over without following any of its links."""

import hashlib
import stat
from pathlib import Path

import pytest

from tests.integration.worker.environments.from_requirements.build_lab import Lab, only_as_root
from tests.integration.worker.environments.from_requirements.package_folder import add_source


@only_as_root
@pytest.mark.parametrize(
    "script",
    [
        "os.mkfifo(ENVIRONMENT + '/pipe')",
        "import socket; os.chdir(ENVIRONMENT); socket.socket(socket.AF_UNIX).bind('s')",
    ],
    ids=["pipe", "socket"],
)
def test_files_that_belong_into_no_environment_are_refused(lab: Lab, script: str) -> None:
    place = f"ENVIRONMENT = {str(lab.state / 'environments' / '7.building' / 'environment')!r}\n"
    add_source(lab.packages, "strange", "1.0", place + script)
    # The environment is made after the versions are chosen, so that pins let the script run beside it.
    pins = lab_pins(lab)
    refusal = lab.refusal("strange\n", builds_sources=True, pins=pins)
    assert refusal.code == "environment.strange_file", refusal


def lab_pins(lab: Lab) -> str:
    (archive,) = lab.packages.glob("strange-*.tar.gz")
    return f"strange==1.0 --hash=sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}\n"


@only_as_root
def test_set_user_bits_and_links_do_no_harm(lab: Lab) -> None:
    script = f"""
place = {str(lab.state / "environments" / "7.building" / "environment")!r}
with open(place + "/bin/tool", "w") as file: file.write("#!/bin/sh\\n")
os.chmod(place + "/bin/tool", 0o6777)
os.symlink("/etc/shadow", place + "/shadow")
os.symlink("/etc", place + "/lib/etc")
os.symlink({str(lab.state / "secret")!r}, {str(lab.state / "environments" / "7.building")!r} + "/pins.txt")
"""
    add_source(lab.packages, "strange", "1.0", script)
    before = [Path(path).stat() for path in ("/etc", "/etc/shadow")]
    lab.build("strange\n", builds_sources=True, pins=lab_pins(lab))
    assert stat.S_IMODE((lab.target / "bin" / "tool").stat().st_mode) == 0o755
    assert (lab.target / "shadow").is_symlink()
    for path, old in zip(("/etc", "/etc/shadow"), before, strict=True):
        new = Path(path).stat()
        assert (new.st_mode, new.st_uid, new.st_gid) == (old.st_mode, old.st_uid, old.st_gid)
    assert (lab.state / "secret").read_text() == "the secret key"
