"""An environment with torch on a machine without a GPU: NVIDIA's libraries, 2 GB of them, are replaced by stand-ins.

torch is linked with them and calls none of them here. Each stand-in has the names that torch asks of it, under the
versions that it asks for, and nothing behind them. For tests alone; a user installs torch as it is.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

WANTED = Path(__file__).with_name("torch.txt")
SYSTEM = Path("/lib/x86_64-linux-gnu")


@dataclass(frozen=True)
class TorchAlone:
    interpreter: Path
    libraries: str
    """As LD_LIBRARY_PATH has it."""


def torch_alone(cache: Path) -> TorchAlone:
    """Fetched and built once: half a GB, and half a minute."""
    digest = hashlib.sha256(WANTED.read_bytes() + Path(__file__).read_bytes()).hexdigest()[:12]
    place = cache / f"torch-of-tests-{digest}"
    if not (place / "whole").exists():
        shutil.rmtree(place, ignore_errors=True)
        build(place)
        (place / "whole").touch()
    return TorchAlone(
        place / "bin" / "python", ":".join(map(str, (place / "stand-ins", *own_libraries(place))))
    )


def build(place: Path) -> None:
    ask(sys.executable, "-m", "venv", "--without-pip", str(place))
    words = ("install", "--quiet", "--no-deps", "--require-hashes", "--python", str(place / "bin" / "python"))
    ask("uv", "pip", *words, "--requirement", str(WANTED))
    (place / "stand-ins").mkdir()
    make_stand_ins(packages_of(place) / "torch" / "lib", own_libraries(place), place / "stand-ins")


def packages_of(place: Path) -> Path:
    return next(place.glob("lib/python3.*/site-packages"))


def own_libraries(place: Path) -> list[Path]:
    """The two small ones of NVIDIA's that are real."""
    return sorted(packages_of(place).glob("nvidia/*/lib"))


def make_stand_ins(torch: Path, real: Sequence[Path], folder: Path) -> None:
    libraries = sorted(torch.glob("*.so*"))
    there = [*libraries, *(file for each in real for file in each.glob("*.so*"))]
    needed: set[str] = set()
    homes: dict[str, str] = {}
    for library in libraries:
        said = ask("objdump", "-p", str(library))
        needed |= set(re.findall(r"NEEDED\s+(\S+)", said))
        for part in said.split("required from ")[1:]:
            home, _, versions = part.partition(":")
            homes |= dict.fromkeys(re.findall(r"0x\S+ 0x\S+ \d+ (\S+)", versions), home)
    known = {file.name for file in there}
    missing = sorted(name for name in needed - known if not (SYSTEM / name).exists())
    defined = {name for library in there for name, _ in symbols(library, "--defined-only")}
    asked = {each for library in libraries for each in symbols(library, "--undefined-only")}
    wanted: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for name, version in asked:
        if name not in defined:
            wanted[homes.get(version, "") if version else missing[0]].add((name, version))
    for library_name in missing:
        make_one(folder, library_name, wanted[library_name])


def symbols(library: Path, which: str) -> set[tuple[str, str]]:
    """Names with their versions; what may stay undefined is none."""
    lines = (line.split() for line in ask("nm", "-D", which, str(library)).splitlines())
    parts = (line[-1].partition("@") for line in lines if len(line) > 1 and line[-2] != "w")
    return {(name, version.lstrip("@")) for name, _, version in parts}


def make_one(folder: Path, name: str, names: Collection[tuple[str, str]]) -> None:
    source, versions = folder / "stand-in.c", folder / "versions"
    source.write_text("".join(f"void {symbol}(void) {{}}\n" for symbol, _ in sorted(names)))
    by_version = defaultdict(list)
    for symbol, version in sorted(names):
        if version:
            by_version[version].append(f"{symbol};")
    versions.write_text(
        "".join(f"{each} {{ global: {' '.join(by_version[each])} }};\n" for each in by_version)
    )
    script = [f"-Wl,--version-script={versions}"] if by_version else []
    words = ("-w", "-shared", "-fPIC", "-fno-builtin", f"-Wl,-soname,{name}", *script)
    ask("gcc", *words, "-o", str(folder / name), str(source))


def ask(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout
