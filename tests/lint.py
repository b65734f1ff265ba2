"""ansible-lint over playbooks and roles, with the collections of the environment that `make ansible` builds; shellcheck
over their programs for the shell.

Thirty seconds; a tree that has passed before is not looked at again on this machine: an empty file in the folder of
built environments stands for it, named by the digest of everything that decides over the result.
"""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from worker.bootstrap.paths import find_installation_paths

ROOT = Path(__file__).resolve().parents[1]
SHEBANG = re.compile(r"#!/bin/(?:ba|da)?sh\b")
UNTIL_FILLED = "SC1091,SC2043,SC2050,SC2093,SC2194"
"""What is true of a template only until it is filled: constants, branches in a row, files that are written later."""
LOOKED_AT = (
    "tests/lint.py",
    "roles",
    "ansible",
    "inventory",
    "site.yml",
    "ansible.cfg",
    ".ansible-lint",
    ".pre-commit-config.yaml",
    ".yamllint",
    "requirements",
)


def main() -> int:
    passed = find_installation_paths().cache_dir / "lint" / digest_of_tree()
    if passed.exists():
        print("this tree has passed on this machine")
        return 0
    code = lint_shell_programs()
    code = code or subprocess.run(["ansible-lint", "-q"], cwd=ROOT, env=environment(), check=False).returncode
    if code == 0:
        passed.parent.mkdir(parents=True, exist_ok=True)
        passed.touch()
    return code


def shell_programs() -> list[Path]:
    """Templates and files of roles that a shell runs."""
    return [
        file
        for file in sorted((ROOT / "roles").rglob("*"))
        if file.is_file() and SHEBANG.match(file.read_text(errors="replace"))
    ]


def without_templates(text: str) -> str:
    """The program with a word in place of each value and without the lines that only the installer reads."""
    return re.sub(
        r"\{\{.*?\}\}", "value", re.sub(r"\{[%#].*?[%#]\}\n?", "", text, flags=re.DOTALL), flags=re.DOTALL
    )


def lint_shell_programs() -> int:
    code = 0
    for file in shell_programs():
        command = ["shellcheck", "--exclude", UNTIL_FILLED, "--format", "gcc", "-"]
        done = subprocess.run(
            command, input=without_templates(file.read_text()), capture_output=True, text=True, check=False
        )
        for line in done.stdout.splitlines():
            print(line.replace("-:", f"{file.relative_to(ROOT)}:", 1))
        code = code or done.returncode
    return code


def digest_of_tree() -> str:
    """Everything that decides over the result: what is read, the pinned linter and the version of shellcheck."""
    digest = hashlib.sha256(
        subprocess.run(["shellcheck", "--version"], capture_output=True, check=True).stdout
    )
    for name in LOOKED_AT:
        top = ROOT / name
        for file in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(os.fsencode(file.relative_to(ROOT)) + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def environment() -> dict[str, str]:
    """Collections by path: none of them is installed for ansible-lint, and none is fetched."""
    command = ["/usr/bin/python3", "-B", "-m", "worker.bootstrap", "ansible", "--path"]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    packages = next(Path(said.split()[-1]).parent.glob("lib/python3.*/site-packages"))
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(packages),
        "ANSIBLE_HOME": str(ROOT / "tests" / "output" / "ansible-home"),
        "NO_COLOR": "1",
    }


if __name__ == "__main__":
    raise SystemExit(main())
