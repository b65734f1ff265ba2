"""Files that a build script left are taken over without following any of its links."""

import hashlib
import os
import stat
from pathlib import Path

import pytest

from tests.integration.worker.environments.from_requirements.build_lab import IDS, Lab, only_as_root
from tests.integration.worker.environments.from_requirements.package_folder import add_source
from worker.environments.errors import BuildFailed
from worker.environments.from_requirements.installed_files import take_over_files


@only_as_root
@pytest.mark.parametrize(
    "script",
    [
        "os.mkfifo(ENVIRONMENT + '/pipe')",
        "import socket; os.chdir(ENVIRONMENT); socket.socket(socket.AF_UNIX).bind('s')",
        "os.mkfifo(os.fsencode(ENVIRONMENT) + b'/caf\\xe9')",
    ],
    ids=["pipe", "socket", "a name that is no text"],
)
def test_files_that_belong_into_no_environment_are_refused(lab: Lab, script: str) -> None:
    place = f"ENVIRONMENT = {str(lab.state / 'environments' / '7.building' / 'environment')!r}\n"
    add_source(lab.packages, "strange", "1.0", place + script)
    # The environment is made after the versions are chosen, so that pins let the script run beside it.
    pins = lab_pins(lab)
    refusal = lab.refusal("strange\n", builds_sources=True, pins=pins)
    assert refusal.code == "environment.strange_file", refusal
    assert refusal.data["path"].encode() in (b"pipe", b"s", b"caf\\udce9")


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


@only_as_root
def test_no_second_name_of_a_file_of_roots_is_taken_over(tmp_path: Path) -> None:
    """The kernel need not forbid such a name. It would be readable for everybody then."""
    assert IDS is not None
    secret = tmp_path / "secret"
    secret.write_text("the secret key")
    secret.chmod(0o600)
    for name in ("plain", "linked"):
        environment = tmp_path / name
        environment.mkdir()
        (environment / "module.py").touch()
        os.chown(environment / "module.py", IDS.uid, IDS.gid)
        os.link(environment / "module.py", environment / "again.py")
    take_over_files(tmp_path / "plain", IDS.uid)
    assert (tmp_path / "plain" / "again.py").stat().st_uid == os.geteuid()
    os.link(secret, tmp_path / "linked" / "found.txt")
    with pytest.raises(BuildFailed) as refused:
        take_over_files(tmp_path / "linked", IDS.uid)
    assert refused.value.code == "environment.strange_file"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
