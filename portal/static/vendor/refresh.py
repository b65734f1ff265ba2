"""Rebuilds this folder from unpacked npm packages: `python3 refresh.py <folder>`.

The folder holds `bootstrap-5.3.8/`, `htmx.org-4.0.1/`, `uplot-1.6.32/` and `tabler-icons-3.51.0/` as
`npm pack` and `tar` leave them. Icons are those that icons.txt names; a test compares MANIFEST.sha256.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
COPIES = {
    "bootstrap-5.3.8/LICENSE": "bootstrap-5.3.8/LICENSE",
    "bootstrap-5.3.8/dist/css/bootstrap.min.css": "bootstrap-5.3.8/bootstrap.min.css",
    "htmx.org-4.0.1/LICENSE": "htmx-4.0.1/LICENSE",
    "htmx.org-4.0.1/dist/htmx.min.js": "htmx-4.0.1/htmx.min.js",
    "tabler-icons-3.51.0/LICENSE": "tabler-icons-3.51.0/LICENSE",
    "uplot-1.6.32/LICENSE": "uplot-1.6.32/LICENSE",
    "uplot-1.6.32/dist/uPlot.iife.min.js": "uplot-1.6.32/uPlot.iife.min.js",
    "uplot-1.6.32/dist/uPlot.min.css": "uplot-1.6.32/uPlot.min.css",
}


def copy_files(packages: Path) -> None:
    """Copies what the pages use, without references to source maps, which are not copied."""
    for source, target in COPIES.items():
        destination = HERE / target
        destination.parent.mkdir(exist_ok=True)
        shutil.copyfile(packages / source, destination)
        if destination.suffix in (".css", ".js"):
            text = destination.read_text(encoding="utf-8")
            text = re.sub(r"\n?/[/*]# sourceMappingURL=\S+(\s*\*/)?\s*$", "\n", text)
            destination.write_text(text, encoding="utf-8")


def sprite(packages: Path) -> str:
    """One SVG with a symbol per icon; stroke and size come from the page's CSS."""
    symbols = []
    for name in (HERE / "icons.txt").read_text(encoding="utf-8").split():
        drawing = (packages / "tabler-icons-3.51.0/icons/outline" / f"{name}.svg").read_text(encoding="utf-8")
        body = re.sub(r"^.*?<svg.*?>|</svg>\s*$", "", drawing, flags=re.DOTALL)
        parts = [line.strip() for line in body.splitlines() if line.strip() and 'stroke="none"' not in line]
        symbols.append(f'<symbol id="{name}" viewBox="0 0 24 24">{"".join(parts)}</symbol>')
    lines = "\n".join(symbols)
    return f'<svg xmlns="http://www.w3.org/2000/svg">\n{lines}\n</svg>\n'


def manifest() -> str:
    """SHA-256 and path of every vendored file, in the form that `sha256sum -c` reads."""
    files = sorted(path for path in HERE.glob("*/*") if path.is_file() and path.parent.name != "__pycache__")
    sums = (
        (hashlib.sha256(path.read_bytes()).hexdigest(), path.relative_to(HERE).as_posix()) for path in files
    )
    return "".join(f"{total}  {path}\n" for total, path in sums)


def main(packages: Path) -> None:
    """Copies the files, draws the sprite, then writes the sums."""
    copy_files(packages)
    (HERE / "tabler-icons-3.51.0/sprite.svg").write_text(sprite(packages), encoding="utf-8")
    (HERE / "MANIFEST.sha256").write_text(manifest(), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.stderr.write("refresh.py needs the folder of the unpacked packages\n")
        raise SystemExit(2)
    main(Path(sys.argv[1]))
