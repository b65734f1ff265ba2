"""Create a root file system by mmdebstrap and run programs in it without network."""

import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worker.environments.command_runner import CommandRunner, network_variables
from worker.environments.errors import BuildStepFailed, BuiltButNotWorking
from worker.environments.prerequisites import missing_tools_error
from worker.images.description import SystemPackages

WORK_MOUNT = Path("/mnt")
"""The path inside the system at which the build's working folder is mounted. The folder is empty on every Debian."""

ENTER = """
set -e
root="$1"; workshop="$2"; place="$3"; user="$4"; shift 4
mount --make-rprivate /
ip link set lo up
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 dev "$root/dev"
mkdir -m 1777 "$root/dev/shm"
for each in null zero full random urandom; do
  touch "$root/dev/$each"; mount --bind "/dev/$each" "$root/dev/$each"
done
ln -s /proc/self/fd "$root/dev/fd"
mount --bind "$workshop" "$root/mnt"
if [ -n "$place" ]; then mount --bind "$place" "$root/opt"; fi
exec chroot --userspec="$user" "$root" "$@"
"""

Tick = Callable[[], None]


@dataclass(frozen=True)
class RootFilesystem:
    """A root file system. `work_dir` is a folder of the host that programs inside see as /mnt."""

    path: Path
    work_dir: Path
    commands: CommandRunner

    def create(self, system: SystemPackages, packages: Sequence[str], tick: Tick) -> None:
        """Runs mmdebstrap; takes a minute or two. Raises BuildFailed.

        It runs in a mount namespace of its own. If the build is killed, the machine's own /proc and /sys are not
        mounted below the folder that the next build deletes.
        """
        left_out = [f"--dpkgopt=path-exclude={pattern}" for pattern in system.left_out]
        options = [
            "--mode=root",
            "--variant=minbase",
            "--format=directory",
            f"--include={','.join(packages)}",
        ]
        self.commands.run(
            [
                *("unshare", "--mount", "--", "mmdebstrap"),
                *(*options, *left_out, distribution_codename(), str(self.path), *list_apt_sources()),
            ],
            variables={**network_variables(), "TMPDIR": str(self.work_dir)},
            on_tick=tick,
        )

    def run_inside(
        self,
        command: Sequence[str | Path],
        *,
        variables: Mapping[str, str],
        on_line: Callable[[str], None] | None = None,
        on_tick: Tick,
        user: int = 0,
        place: Path | str = "",
    ) -> list[str]:
        """Runs the command and returns the last lines of its output. A folder of the host can be mounted at /opt:
        `place`.
        """
        spaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
        told = [str(self.path), str(self.work_dir), str(place), f"{user}:{user}", *map(str, command)]
        enter = ["sh", "-c", ENTER, "enter", *told]
        return self.commands.run([*spaces, *enter], variables=variables, on_line=on_line, on_tick=on_tick)

    def try_inside(self, command: Sequence[str | Path], **options: object) -> list[str]:
        """Runs the command as `run_inside` does, but raises BuiltButNotWorking if it fails."""
        try:
            return self.run_inside(command, **options)  # type: ignore[arg-type]
        except BuildStepFailed as failure:
            raise BuiltButNotWorking("environment.not_working", **failure.data) from failure


def distribution_codename() -> str:
    return platform.freedesktop_os_release()["VERSION_CODENAME"]


def list_apt_sources() -> list[str]:
    """The distribution's own sources as lines for apt, without those of other publishers.

    Raises ToolsMissing if apt was never updated, because it then knows no sources.
    """
    origin = platform.freedesktop_os_release()["ID"].lower()
    wanted = "$(ORIGIN)|deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    asked = subprocess.run(
        ["apt-get", "indextargets", "--format", wanted, "Identifier: Packages"],
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = select_apt_sources(asked.stdout, origin)
    if not lines:
        raise missing_tools_error(["apt-get update"])
    return lines


def select_apt_sources(listed: str, origin: str) -> list[str]:
    """The sources whose origin is `origin`, in their order and without repetitions."""
    pairs = [line.split("|", 1) for line in listed.splitlines() if "|" in line]
    return list(dict.fromkeys(source for by, source in pairs if by.lower() == origin))
