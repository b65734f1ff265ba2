"""Copy images between registries and archives by skopeo, the only program here that copies from and to registries.

https://github.com/containers/skopeo/blob/v1.9.3/docs/skopeo-copy.1.md
"""

import base64
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

PLATFORM = ("--override-os", "linux", "--override-arch", "amd64")
LONGEST_LINE = 300
"""Characters of an error that are shown."""


class SkopeoFailed(Exception):
    """skopeo has failed. The message is the end of its output."""


@dataclass(frozen=True)
class RegistryLogin:
    """`registry` is host and port."""

    registry: str
    user: str
    password: str

    def auth_file(self) -> bytes:
        """The file that `skopeo login` would write:
        https://github.com/containers/image/blob/v5.22.0/docs/containers-auth.json.5.md
        """
        word = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return json.dumps({"auths": {self.registry: {"auth": word}}}).encode()


def push_archive(archive: Path, target: str, trust: Path, login: RegistryLogin) -> None:
    """Pushes an OCI archive to `target`. Only missing blobs are sent, and the digest does not change.

    `trust` is a folder with ca.crt. Raises SkopeoFailed.
    """
    options = ("--preserve-digests", "--dest-cert-dir", str(trust))
    with memory_file(login.auth_file()) as held:
        run_skopeo(
            ["copy", "--quiet", *options, "--authfile", path_of(held)],
            [f"oci-archive:{archive}", f"docker://{target}"],
            [held],
        )


def pull_image(reference: str, folder: Path, mirrors: Mapping[str, str]) -> None:
    """Pulls the unchanged image for Linux on amd64. `folder` then has manifest.json, and each blob under its digest.

    `mirrors` maps registries to the addresses that are asked instead. Without any, the machine's registries.conf and
    its logins are used. Raises SkopeoFailed.
    """
    with ExitStack() as stack:
        held = [stack.enter_context(memory_file(render_mirrors(mirrors)))] if mirrors else []
        conf = [word for each in held for word in ("--registries-conf", path_of(each))]
        run_skopeo(
            [*conf, *PLATFORM, "copy", "--quiet", "--preserve-digests"],
            [f"docker://{reference}", f"dir:{folder}"],
            held,
        )


def render_mirrors(mirrors: Mapping[str, str]) -> bytes:
    """The configuration of mirrors.
    https://github.com/containers/image/blob/v5.22.0/docs/containers-registries.conf.5.md
    """
    lines = []
    for registry, address in mirrors.items():
        parts = urlsplit(address)
        is_plain = "true" if parts.scheme == "http" else "false"
        location = f"{parts.netloc}{parts.path}".rstrip("/")
        # JSON's strings are valid TOML.
        texts = (f"prefix = {json.dumps(registry)}", f"location = {json.dumps(location)}")
        lines += ["[[registry]]", *texts, f"insecure = {is_plain}"]
    return "\n".join([*lines, ""]).encode()


def run_skopeo(words: Sequence[str], places: Sequence[str], held: Sequence[int]) -> None:
    done = subprocess.run(
        ["skopeo", *words, *places], pass_fds=held, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SkopeoFailed(parse_error(done.stderr) or f"skopeo ended with {done.returncode}")


def parse_error(text: str) -> str:
    """The message of the last line, without its time and level."""
    line = (text.strip().splitlines() or [""])[-1]
    message = line.partition(' msg="')[2].removesuffix('"').replace('\\"', '"')
    return (message or line)[:LONGEST_LINE]


@contextmanager
def memory_file(content: bytes) -> Iterator[int]:
    """Yields the descriptor of a file in memory. It is on no disk, because it may contain a password."""
    held = os.memfd_create("skopeo")
    try:
        os.write(held, content)
        yield held
    finally:
        os.close(held)


def path_of(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"
