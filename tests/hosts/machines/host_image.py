"""The image of a test host, made once per machine from debootstrap and the Dockerfile beside this file."""

import fcntl
import hashlib
import subprocess
from pathlib import Path

from tests.containers.engine import command_line, ensure_engine
from tests.hosts import bare_machine

FOLDER = Path(__file__).parent / "image"
NAME = "gc-hosts"


def ensure_image(cache: Path) -> str:
    """The tag of the image, named by everything that it is made of; two minutes where it is missing."""
    ensure_engine()
    with (cache / ".hosts.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return ensure_tag(bare_machine.image(cache))


def ensure_tag(root: Path) -> str:
    tag = f"{NAME}:{digest_of(*sorted(FOLDER.iterdir()), root / 'etc' / 'debian_version')}"
    if docker("image", "inspect", tag, check=False).returncode != 0:
        base = ensure_base(root)
        docker("build", "--tag", tag, "--build-arg", f"BASE={base}", str(FOLDER))
    return tag


def ensure_base(root: Path) -> str:
    """Its name does not depend on the Dockerfile, so that a change there begins where the change is."""
    base = (
        f"{NAME}-base:{digest_of(root / 'etc' / 'debian_version', root / 'var' / 'lib' / 'dpkg' / 'status')}"
    )
    if docker("image", "inspect", base, check=False).returncode != 0:
        with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as tar:
            subprocess.run(
                [command_line(), "import", "-", base], stdin=tar.stdout, check=True, capture_output=True
            )
        if tar.returncode != 0:
            raise RuntimeError(f"{root} could not be read")
    return base


def digest_of(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def docker(*words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    """Runs the engine's command. Raises RuntimeError with its last words where it fails."""
    done = subprocess.run(
        [command_line(), *words], capture_output=True, text=True, check=False, env={"DOCKER_BUILDKIT": "0"}
    )
    if check and done.returncode != 0:
        words_of_engine = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise RuntimeError(f"docker {words[0]} ended with {done.returncode}:\n{words_of_engine}")
    return done
