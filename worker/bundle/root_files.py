"""The files of a few of the distribution's packages as one layer of an image: no installation, no scripts, no root."""

import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from worker.bundle.build_cache import CollectingFailed
from worker.oci.layers import add_parent_folders, open_layer_tar

MERGED = ("bin", "sbin", "lib", "lib64")
"""Folders that are links into usr/ since the distributions have merged them."""
EXCLUDED_PATHS = (
    "usr/share/man/",
    "usr/share/locale/",
    "usr/share/info/",
    "usr/share/lintian/",
    "usr/share/bash-completion/",
)
DOCUMENTS = "usr/share/doc/"
SPECIAL_FOLDERS = {
    "proc": 0o555,
    "sys": 0o555,
    "dev": 0o755,
    "run": 0o755,
    "tmp": 0o1777,
    "root": 0o700,
    "var/lib": 0o755,
}


def write_package_layer(layer: Path, debs: Sequence[Path], links: dict[str, str]) -> None:
    """`links` are what the packages' scripts would have made, as update-alternatives does."""
    with open_layer_tar(layer) as tar:
        for name in MERGED:
            _add_link(tar, name, f"usr/{name}")
        for name, mode in SPECIAL_FOLDERS.items():
            add_parent_folders(tar, name)
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
                name = usr_merged_path(info.name)
                if not name or name in seen or is_excluded_path(name):
                    continue
                file = content.extractfile(info) if info.isreg() else None
                tar.addfile(_plain(info, name), file)
                seen.add(name)
        if process.wait() != 0:
            raise CollectingFailed(f"{deb} cannot be unpacked")


def usr_merged_path(name: str) -> str:
    """The path below the root, with what lies in /bin, /sbin and /lib in usr/."""
    plain = name.removeprefix("./").strip("/")
    if plain == ".":
        return ""
    return f"usr/{plain}" if plain.split("/")[0] in MERGED else plain


def is_excluded_path(name: str) -> bool:
    """Manuals and translations; of the documents only each package's copyright stays."""
    if name.startswith(DOCUMENTS):
        depth = name.removeprefix(DOCUMENTS).count("/")
        return depth > 1 or (depth == 1 and not name.endswith("/copyright"))
    return f"{name}/".startswith(EXCLUDED_PATHS)


def _plain(info: tarfile.TarInfo, name: str) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.mode, made.size = info.type, info.mode, info.size
    made.linkname = usr_merged_path(info.linkname) if info.islnk() else info.linkname
    return made


def _add_link(tar: tarfile.TarFile, name: str, target: str) -> None:
    add_parent_folders(tar, name)
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = tarfile.SYMTYPE, target, 0o777
    tar.addfile(info)
