"""Copy images between registries and archives by skopeo, which alone speaks the registries' protocol.

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
"""Letters of an error that are shown."""


class SkopeoFailed(Exception):
    """In skopeo's own words."""


@dataclass(frozen=True)
class RegistryLogin:
    """`registry` is host and port."""

    registry: str
    user: str
    password: str

    def auth_file(self) -> bytes:
        """As `skopeo login` would write it: https://github.com/containers/image/blob/v5.22.0/docs/containers-auth.json.5.md"""
        word = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return json.dumps({"auths": {self.registry: {"auth": word}}}).encode()


def push_archive(archive: Path, target: str, trust: Path, login: RegistryLogin) -> None:
    """An OCI archive under the name `target`; only what is missing travels, and its digest stays what it is.

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
    """The image for Linux on amd64 as it is: `folder` has manifest.json, and each blob under its sum.

    `mirrors` has by registry the address that is asked in its place; without any, the machine's own
    registries.conf counts. A login of the machine's own is used. Raises SkopeoFailed.
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
    """https://github.com/containers/image/blob/v5.22.0/docs/containers-registries.conf.5.md"""
    lines = []
    for registry, address in mirrors.items():
        parts = urlsplit(address)
        is_plain = "true" if parts.scheme == "http" else "false"
        location = f"{parts.netloc}{parts.path}".rstrip("/")
        # JSON's strings are TOML's too.
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
    """The message of the last line, which has a time and a level before it."""
    line = (text.strip().splitlines() or [""])[-1]
    message = line.partition(' msg="')[2].removesuffix('"').replace('\\"', '"')
    return (message or line)[:LONGEST_LINE]


@contextmanager
def memory_file(content: bytes) -> Iterator[int]:
    """The descriptor of a file that is on no disk, for it may hold a password."""
    held = os.memfd_create("skopeo")
    try:
        os.write(held, content)
        yield held
    finally:
        os.close(held)


def path_of(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"
