"""Small stand-ins for uv, pip, compiler and TensorFlow: a whole build takes a tenth of a second."""

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from worker.environments.build import build_environment
from worker.environments.description import EnvironmentDescription, read_environment_description

PYTHON = """#!/bin/sh
# The interpreter before, in and after the build; a file named after a trouble makes the trouble.
control={control}
echo "python $*" >> $control/calls
case "$*" in
  "-m venv "*) mkdir -p "$3/bin" && cp $0 "$3/bin/python" ;;
  "-m pip install"*) ;;
  "-m pip download"*"--only-binary"*)
    if [ -e $control/no_network ]; then
      echo "WARNING: Failed to establish a new connection: [Errno 101] Network is unreachable"
      echo "ERROR: No matching distribution found for six==1.17.0"; exit 1
    fi
    if [ -e $control/other_file ]; then
      echo "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE."; exit 1
    fi
    echo "Collecting six==1.17.0"
    echo "  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)"
    echo "Progress 50 of 100"
    echo "the wheel of six" > "$7/six-1.17.0-py2.py3-none-any.whl" ;;
  "-m pip download"*) echo "the source" > "$7/slow-1.0.tar.gz" ;;
  "-m pip wheel"*)
    echo "-- Configuring"
    echo "  [ 50%] Building CXX object horovod/CMakeFiles/mpi_ops.cc.o"
    if [ -e $control/no_memory ]; then
      echo "g++: fatal error: Killed signal terminated program cc1plus"; exit 1
    fi
    if [ -e $control/bad_code ]; then echo "mpi_ops.cc:1: error: no"; exit 2; fi
    if [ -e $control/endless ]; then sleep 600 & sleep 600; fi
    while [ $# -gt 1 ]; do [ "$1" = -w ] && made=$2; shift; done
    mkdir -p $made && echo "compiled" > $made/slow-1.0-py3-none-any.whl ;;
  *sysconfig*) exec /usr/bin/python3 "$@" ;;
  *importlib*) echo '{{"python": "3.11.2", "six": "1.17.0", "slow": "1.0"}}' ;;
  *horovod*) if [ -e $control/broken ]; then echo "NotFoundError: libx.so"; exit 1; fi ;;
  *) echo "unknown to the stand-in: $*"; exit 3 ;;
esac
"""

UV = """#!/bin/sh
control={control}
echo "uv $*" >> $control/calls
if [ -e $control/disk_full ]; then echo "error: No space left on device (os error 28)"; exit 2; fi
while [ $# -gt 1 ]; do shift; done
case "$1" in
  */environment)
    mkdir -p $1/bin $1/lib && cp {python} $1/bin/python && echo "a library" > $1/lib/module.py
    chmod 600 $1/lib/module.py; chmod 700 $1/lib $1/bin/python ;;
esac
"""

DESCRIPTION = """
name = "small"
pythons = ["3.11", "3.12"]
[variables]
TF_USE_LEGACY_KERAS = "1"
[disk]
wheels = 1000
environment = 1000
compilation = 1000
[compiled]
package = "slow"
[compiled.variables]
SLOWLY = "1"
[[compiled.needs]]
package = "coreutils"
program = "ls"
[contents]
python = "purpose.language"
six = "purpose.arrays"
"""


@dataclass
class Site:
    """One machine's cache, its stand-in tools, and a description of an environment to build there."""

    folder: Path
    reports: list[tuple[str, float, str]] = field(default_factory=list)

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def log(self) -> Path:
        return self.folder / "log" / "build.log"

    @property
    def uv(self) -> Path:
        return self.folder / "uv"

    @property
    def python(self) -> Path:
        return self.folder / "python"

    @property
    def description(self) -> EnvironmentDescription:
        return read_environment_description(self.folder / "small")

    def trouble(self, name: str) -> None:
        (self.folder / "control" / name).touch()

    def no_trouble(self, name: str) -> None:
        (self.folder / "control" / name).unlink()

    def calls(self, containing: str) -> int:
        calls = self.folder / "control" / "calls"
        return calls.read_text().count(containing) if calls.exists() else 0

    def report(self, step: str, share: float, detail: str) -> None:
        self.reports.append((step, share, detail))

    def build(self, offered: Path | None = None) -> Path:
        return build_environment(
            self.description,
            self.cache,
            self.report,
            uv=self.uv,
            log=self.log,
            python=self.python,
            offered=offered,
        )


def make_site() -> Site:
    """In a folder that every user may enter, as a build by root tries what it made as another user."""
    folder = Path(tempfile.mkdtemp(prefix="groundcrew-environment-"))
    folder.chmod(0o755)
    control = folder / "control"
    control.mkdir()
    control.chmod(0o777)
    site = Site(folder)
    site.python.write_text(PYTHON.format(control=control))
    site.uv.write_text(UV.format(control=control, python=site.python))
    (control / "calls").touch()
    for path, mode in ((site.python, 0o755), (site.uv, 0o755), (control / "calls", 0o666)):
        path.chmod(mode)
    small = folder / "small"
    small.mkdir()
    (small / "environment.toml").write_text(DESCRIPTION)
    (small / "requirements.txt").write_text("six==1.17.0 \\\n    --hash=sha256:00\n")
    (small / "slow.txt").write_text("slow==1.0 --hash=sha256:00\n")
    return site


def sums(site: Site) -> dict[str, str]:
    """What the wheels' folder says of its own files."""
    (path,) = site.cache.glob("wheels-*/SHA256SUMS.json")
    read: dict[str, str] = json.loads(path.read_text())
    return read
