"""Pin every package with its hashes: ``make lock``. The index is the machine's own."""

import subprocess
import sys

COMPILE = [
    *("uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes"),
    *("--no-emit-index-url", "--no-annotate", "--no-header", "--upgrade", "pyproject.toml"),
]


def main() -> None:
    """Rewrite portal.txt, then test.txt with the same versions and the developers' tools."""
    portal, test = "requirements/portal.txt", "requirements/test.txt"
    subprocess.run([*COMPILE, "-o", portal], check=True)
    subprocess.run([*COMPILE, "-c", portal, "--group", "dev", "-o", test], check=True)


if __name__ == "__main__":
    sys.exit(main())
