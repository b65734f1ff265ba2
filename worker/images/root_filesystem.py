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
"""Where the build's own folder is seen inside: every Debian has the empty folder."""

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
    """`work_dir` is a folder of the host that programs inside see as /mnt."""

    path: Path
    work_dir: Path
    commands: CommandRunner

    def create(self, system: SystemPackages, packages: Sequence[str], tick: Tick) -> None:
        """Takes a minute or two. Raises BuildFailed.

        What is mounted below the folder meanwhile is seen by it alone: a build that is killed leaves the machine's own
        /proc and /sys under no folder that the next one deletes.
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
        """The last lines of its output; `place`, a folder of the host, is seen as /opt where it is given."""
        spaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
        told = [str(self.path), str(self.work_dir), str(place), f"{user}:{user}", *map(str, command)]
        enter = ["sh", "-c", ENTER, "enter", *told]
        return self.commands.run([*spaces, *enter], variables=variables, on_line=on_line, on_tick=on_tick)

    def try_inside(self, command: Sequence[str | Path], **options: object) -> list[str]:
        """As `run_inside`; what does not start there is an image that is of no use. Raises BuiltButNotWorking."""
        try:
            return self.run_inside(command, **options)  # type: ignore[arg-type]
        except BuildStepFailed as failure:
            raise BuiltButNotWorking("environment.not_working", **failure.data) from failure


def distribution_codename() -> str:
    return platform.freedesktop_os_release()["VERSION_CODENAME"]


def list_apt_sources() -> list[str]:
    """The distribution's own sources as lines for apt; what others publish has no place in an image.

    Raises ToolsMissing where apt has never been updated, so that nothing is known of its sources.
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
    """Each once, in their order."""
    pairs = [line.split("|", 1) for line in listed.splitlines() if "|" in line]
    return list(dict.fromkeys(source for by, source in pairs if by.lower() == origin))
