"""Runs git as a user without rights, with limits of time, memory and file size, and with none of its own settings."""

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from cluster.domain.errors import GroundcrewError, Refused, Unavailable
from cluster.domain.git.git_failures import explain_git_failure
from cluster.domain.jobs.unix_ids import UnixIds
from cluster.redaction import redact_text

PATH = "/usr/bin:/bin:/usr/local/bin"
SHOWN_BYTES = 64 * 1024
"""The number of bytes that are read of git's stderr."""
OLDEST_GIT = (2, 37)
"""The first version that connects to a chosen address (http.curloptResolve) while it verifies the name."""
OPTIONS = {
    "protocol.allow": "never",
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.bigFileThreshold": "16m",
    "core.packedGitWindowSize": "32m",
    "credential.helper": "",
    "http.followRedirects": "false",
    "http.proxy": "",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    "fetch.fsckObjects": "true",
    # Old commits have these faults, which do no harm.
    "fetch.fsck.zeroPaddedFilemode": "ignore",
    "fetch.fsck.missingSpaceBeforeDate": "ignore",
    "fetch.fsck.badTimezone": "ignore",
    # Everything becomes one pack, whose size the limit of file sizes holds.
    "fetch.unpackLimit": "1",
    "fetch.recurseSubmodules": "false",
    "submodule.recurse": "false",
    "transfer.bundleURI": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "pack.threads": "1",
    "init.defaultBranch": "main",
}


@dataclass(frozen=True)
class GitLimits:
    """Limits of one fetch, all its git processes together in `seconds`."""

    seconds: float = 300.0
    file_bytes: int = 256 * 1024**2
    """The limit for each file that git writes, above all the pack."""
    memory_bytes: int = 2 * 1024**3


@dataclass
class GitProcesses:
    """Runs git in `folder`, its home. `secrets` never appear in an error; `about` is the data of each error."""

    folder: Path
    limits: GitLimits
    ids: UnixIds | None = None
    """None if git keeps the rights of this process, which is not root."""
    options: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    secrets: Sequence[str] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    until: float = field(init=False)

    def __post_init__(self) -> None:
        self.until = time.monotonic() + self.limits.seconds

    def run(self, *arguments: str, most: int = 1024**2, input_bytes: bytes = b"") -> bytes:
        """Returns git's stdout, at most `most` bytes. Raises Refused and Unavailable.

        Both outputs go to unnamed files, to which the limit of file sizes applies, so that no server can fill our
        memory.
        """
        with (
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as told,
            tempfile.TemporaryFile() as given,
        ):
            given.write(input_bytes)
            given.seek(0)
            code = self.wait(self.start([*arguments], given, out, told))
            if code != 0:
                raise self.explain(code, told)
            return self.read_output(out, most)

    def start(
        self, arguments: Sequence[str], given: IO[bytes], out: IO[bytes], told: IO[bytes]
    ) -> "subprocess.Popen[bytes]":
        options = [f"{name}={value}" for name, value in (OPTIONS | dict(self.options)).items()]
        command = [
            *self.confine(),
            "git",
            *(word for option in options for word in ("-c", option)),
            *arguments,
        ]
        try:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment(),
                stdin=given,
                stdout=out,
                stderr=told,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise Unavailable("git.missing") from error

    def confine(self) -> list[str]:
        """The programs of util-linux that drop rights before git begins."""
        drop = ["setpriv", "--no-new-privs"]
        if self.ids is not None:
            drop += [f"--reuid={self.ids.uid}", f"--regid={self.ids.gid}", "--clear-groups"]
        limits = (f"--fsize={self.limits.file_bytes}", f"--as={self.limits.memory_bytes}", "--core=0")
        return [*drop, "--", "prlimit", *limits, f"--cpu={max(1, int(self.limits.seconds))}", "--"]

    def environment(self) -> dict[str, str]:
        return {
            "PATH": PATH,
            "HOME": str(self.folder),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "/bin/false",
            "SSH_ASKPASS": "/bin/false",
            "GIT_PROTOCOL_FROM_USER": "0",
            "GIT_NO_LAZY_FETCH": "1",
            **self.variables,
        }

    def wait(self, process: "subprocess.Popen[bytes]") -> int:
        """Waits for git, and then ends what it has started. Raises Unavailable at the deadline."""
        try:
            return process.wait(max(0.0, self.until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Unavailable("git.too_slow", **self.about) from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def explain(self, code: int, told: IO[bytes]) -> GroundcrewError:
        told.seek(0, os.SEEK_END)
        told.seek(max(0, told.tell() - SHOWN_BYTES))
        words = redact_text(told.read().decode("utf-8", "replace"), [each for each in self.secrets if each])
        if code == 127 or "failed to execute git" in words:
            return Unavailable("git.missing")
        if code == -signal.SIGXFSZ:
            return Refused("url", "git.too_large", **self.about)
        return explain_git_failure(words, **self.about)

    def read_output(self, out: IO[bytes], most: int) -> bytes:
        out.seek(0)
        content = out.read(most + 1)
        if len(content) > most:
            raise Refused("url", "git.too_large", **self.about)
        return content


def require_usable_git(processes: GitProcesses) -> None:
    """Raises Unavailable if git is missing or too old."""
    words = processes.run("version").decode("utf-8", "replace").split()
    version = tuple(int(part) for part in words[2].split(".")[:2]) if len(words) > 2 else (0, 0)
    if version < OLDEST_GIT:
        raise Unavailable(
            "git.too_old", found=".".join(map(str, version)), needed=".".join(map(str, OLDEST_GIT))
        )


def quote_words(words: Sequence[str]) -> str:
    """A command for settings of git that a shell reads."""
    return shlex.join(words)
