"""Pin every package with its hashes: ``make lock``. The index is the machine's own."""

import subprocess
import sys

COMPILE = [
    *("uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes"),
    *("--no-emit-index-url", "--no-annotate", "--no-header", "--upgrade"),
]


def main() -> None:
    """Rewrite portal.txt, test.txt with the same versions and the developers' tools, Ansible's and the rivals' own."""
    portal, test, ansible = (f"requirements/{name}.txt" for name in ("portal", "test", "ansible"))
    subprocess.run([*COMPILE, "pyproject.toml", "-o", portal], check=True)
    subprocess.run([*COMPILE, "pyproject.toml", "-c", portal, "--group", "dev", "-o", test], check=True)
    subprocess.run([*COMPILE, "-c", test, "--group", "ansible", "-o", ansible], check=True)
    subprocess.run(
        [*COMPILE, "-c", ansible, "--group", "repairs", "-o", "requirements/repairs.txt"], check=True
    )
    subprocess.run([*COMPILE, "-c", test, "--group", "bench", "-o", "requirements/bench.txt"], check=True)


if __name__ == "__main__":
    sys.exit(main())
