"""The files of a few of the distribution's packages as one layer of an image: no installation, no scripts, no root."""

import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from worker.bundle.image import add_folders, new_layer
from worker.bundle.workshop import CollectingFailed

MERGED = ("bin", "sbin", "lib", "lib64")
"""Folders that are links into usr/ since the distributions have merged them."""
LEFT_OUT = (
    "usr/share/man/",
    "usr/share/locale/",
    "usr/share/info/",
    "usr/share/lintian/",
    "usr/share/bash-completion/",
)
DOCUMENTS = "usr/share/doc/"
SPECIAL = {
    "proc": 0o555,
    "sys": 0o555,
    "dev": 0o755,
    "run": 0o755,
    "tmp": 0o1777,
    "root": 0o700,
    "var/lib": 0o755,
}


def write_root(layer: Path, debs: Sequence[Path], links: dict[str, str]) -> None:
    """`links` are what the packages' scripts would have made, as update-alternatives does."""
    with new_layer(layer) as tar:
        for name in MERGED:
            _add_link(tar, name, f"usr/{name}")
        for name, mode in SPECIAL.items():
            add_folders(tar, name)
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, mode
            tar.addfile(info)
        seen = set(tar.getnames())
        for deb in sorted(debs, key=lambda path: path.name):
            _add_package(tar, deb, seen)
        for name, target in sorted(links.items()):
            if name not in seen:
                _add_link(tar, name, target)


def _add_package(tar: tarfile.TarFile, deb: Path, seen: set[str]) -> None:
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|") as content:
            for info in content:
                name = merged(info.name)
                if not name or name in seen or is_left_out(name):
                    continue
                file = content.extractfile(info) if info.isreg() else None
                tar.addfile(_plain(info, name), file)
                seen.add(name)
        if process.wait() != 0:
            raise CollectingFailed(f"{deb} cannot be unpacked")


def merged(name: str) -> str:
    """The path below the root, with what lies in /bin, /sbin and /lib in usr/."""
    plain = name.removeprefix("./").strip("/")
    if plain == ".":
        return ""
    return f"usr/{plain}" if plain.split("/")[0] in MERGED else plain


def is_left_out(name: str) -> bool:
    """Manuals and translations; of the documents only each package's copyright stays."""
    if name.startswith(DOCUMENTS):
        depth = name.removeprefix(DOCUMENTS).count("/")
        return depth > 1 or (depth == 1 and not name.endswith("/copyright"))
    return f"{name}/".startswith(LEFT_OUT)


def _plain(info: tarfile.TarInfo, name: str) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.mode, made.size = info.type, info.mode, info.size
    made.linkname = merged(info.linkname) if info.islnk() else info.linkname
    return made


def _add_link(tar: tarfile.TarFile, name: str, target: str) -> None:
    add_folders(tar, name)
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = tarfile.SYMTYPE, target, 0o777
    tar.addfile(info)
