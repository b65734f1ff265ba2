"""A second container engine beside the machine's: its own socket, data, containerd and pid file, no network.

For tests that stop and kill engines, which the one that everybody uses must not suffer. As in the
distribution's units, containerd is a service of its own and outlives a dockerd that is killed.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.containers.engine import PATH, answers, ensure_engine

STARTS_WITHIN = 60
"""Seconds."""


@dataclass
class SecondEngine:
    folder: Path
    live_restore: bool
    containerd: "subprocess.Popen[bytes] | None" = None
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def socket(self) -> Path:
        return self.folder / "docker.sock"

    def start(self) -> None:
        """Until it answers. Raises RuntimeError with the end of its log."""
        assert self.process is None
        if self.containerd is None:
            self.start_containerd()
        (self.folder / "docker.pid").unlink(missing_ok=True)
        command = [
            # An engine without a bridge deletes `docker0` where it sees one: the machine's own.
            *("unshare", "--net", "--"),
            "dockerd",
            f"--host=unix://{self.socket}",
            f"--containerd={self.folder}/containerd.sock",
            f"--data-root={self.folder}/data",
            f"--exec-root={self.folder}/exec",
            f"--pidfile={self.folder}/docker.pid",
            f"--config-file={self.folder}/daemon.json",
            "--bridge=none",
            "--iptables=false",
            "--ip-forward=false",
            f"--live-restore={str(self.live_restore).lower()}",
            "--shutdown-timeout=15",
        ]
        (self.folder / "daemon.json").write_text("{}")
        self.process = self.spawn(command)
        self.wait(self.process, lambda: answers(self.socket))

    def start_containerd(self) -> None:
        (self.folder / "containerd.toml").write_text(
            f'version = 2\nroot = "{self.folder}/containerd/root"\nstate = "{self.folder}/containerd/state"\n'
            f'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
            f'[grpc]\naddress = "{self.folder}/containerd.sock"\n'
        )
        self.containerd = self.spawn(["containerd", f"--config={self.folder}/containerd.toml"])
        self.wait(self.containerd, (self.folder / "containerd.sock").exists)

    def spawn(self, command: list[str]) -> "subprocess.Popen[bytes]":
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                command,
                env={"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait(self, process: "subprocess.Popen[bytes]", is_there: Callable[[], bool]) -> None:
        deadline = time.monotonic() + STARTS_WITHIN
        while not is_there():
            if process.poll() is not None or time.monotonic() > deadline:
                words = "\n".join((self.folder / "log").read_text(errors="replace").splitlines()[-12:])
                raise RuntimeError(f"the second engine does not answer:\n{words}")
            time.sleep(0.05)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Politely, or as `kill -9` does."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(60)
            self.process = None

    def close(self) -> None:
        """With every container of it, also where it had failed."""
        for process in (self.process, self.containerd):
            if process is not None:
                process.kill()
                process.wait(60)
        for shim in psutil.process_iter(["cmdline"]):
            if str(self.folder) in " ".join(shim.info["cmdline"] or ()):
                for each in [*shim.children(recursive=True), shim]:
                    with suppress(psutil.NoSuchProcess):
                        each.kill()
        for mount in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            if mount.split()[1].startswith(str(self.folder)):
                subprocess.run(["umount", "--lazy", mount.split()[1]], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def second_engine(live_restore: bool) -> Iterator[SecondEngine]:
    """Needs root; docker.io is installed where it is missing."""
    ensure_engine()
    if os.geteuid() != 0:
        raise RuntimeError("only root can start a second container engine")
    engine = SecondEngine(Path(tempfile.mkdtemp(prefix="gc-engine-", dir="/var/tmp")), live_restore)
    # In memory: its images need not outlive it, and a loaded disk takes seconds to throw them away.
    subprocess.run(["mount", "-t", "tmpfs", "gc-engine", str(engine.folder)], check=True)
    try:
        engine.start()
        yield engine
    finally:
        engine.close()
