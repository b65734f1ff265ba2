"""apt in a folder of its own: flat repositories of recorded stanzas, and what apt would do with them.

Nothing is fetched and nothing of the machine is read or changed; a simulation needs the index alone, no package.
"""

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.vendors.stanzas import Stanza
from worker.bundle.apt_packages import format_options, private_apt_values

INSTALLED = re.compile(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", re.MULTILINE)
NO_REASON = "E: Unable to correct problems, you have held broken packages."


@dataclass(frozen=True)
class AptVerdict:
    """What `apt-get --simulate` answers: the packages with their versions, or apt's own words of refusal."""

    is_possible: bool
    installed: Mapping[str, str]
    message: str


class PrivateApt:
    """Repositories by the `Origin` of their Release file, and what is installed before."""

    def __init__(
        self,
        folder: Path,
        repositories: Mapping[str, Iterable[Stanza]],
        installed: Iterable[Stanza] = (),
        preferences: str = "",
    ) -> None:
        self.folder = folder
        for part in ("state/lists/partial", "cache/archives/partial", "sources", "repositories"):
            (folder / part).mkdir(parents=True)
        (folder / "status").write_text("\n".join(map(_installed_stanza, installed)))
        (folder / "preferences").write_text(preferences)
        for number, (origin, stanzas) in enumerate(repositories.items()):
            self._add_repository(f"{number}", origin, stanzas)
        self._run("apt-get", "update")

    def simulate(self, names: Sequence[str], *options: str) -> AptVerdict:
        """`apt-get install`, without recommended packages, as the roles do it."""
        done = self._run(
            "apt-get", "--simulate", "--no-install-recommends", *options, "install", *names, check=False
        )
        said = (done.stdout + done.stderr).strip()
        return AptVerdict(done.returncode == 0, dict(INSTALLED.findall(done.stdout)), said)

    def _add_repository(self, name: str, origin: str, stanzas: Iterable[Stanza]) -> None:
        folder = self.folder / "repositories" / name
        folder.mkdir()
        (folder / "Packages").write_text("\n".join(map(_index_stanza, stanzas)))
        (folder / "Release").write_text(f"Origin: {origin}\nLabel: {origin}\nSuite: recorded\n")
        source = f"Types: deb\nURIs: file:{folder}/\nSuites: ./\nTrusted: yes\n"
        (self.folder / "sources" / f"{name}.sources").write_text(source)

    def _run(self, program: str, *words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        command = [program, "-q", "-y", *private_options(self.folder), *words]
        return subprocess.run(
            command, capture_output=True, text=True, check=check, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
        )


def private_options(folder: Path) -> list[str]:
    """All that apt would otherwise read of this machine."""
    without_configuration = {"Dir::Etc::main": "/dev/null", "Dir::Etc::parts": "/dev/null"}
    return format_options(private_apt_values(folder) | without_configuration)


def _index_stanza(stanza: Stanza) -> str:
    lines = [f"{field.name}: {field.value}" for field in stanza.fields]
    if not stanza.get("Architecture"):
        lines.append("Architecture: amd64")
    path = f"./{stanza['Package']}_{stanza['Version'].replace(':', '%3a')}.deb"
    return "\n".join([*lines, f"Filename: {path}", "Size: 1", f"SHA256: {'0' * 64}", ""])


def _installed_stanza(stanza: Stanza) -> str:
    lines = [f"{field.name}: {field.value}" for field in stanza.fields]
    return "\n".join([*lines, "Status: install ok installed", "Architecture: amd64", ""])
