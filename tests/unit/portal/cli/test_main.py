"""What the command loads before it sends a request."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster import settings
from portal.cli import main
from portal.cli.version import VERSION

ROOT = Path(__file__).parents[4]
NEEDED = (
    "client",
    "commands",
    "commands.job_files",
    "commands.jobs",
    "commands.remote_files",
    "commands.submission",
    "config",
    "http_request",
    "main",
    "messages",
    "output",
    "version",
)
LOADED = """
import json, sys
from portal.cli import main
try:
    main(["job", "list"])
except SystemExit as ended:
    print(json.dumps([ended.code, sorted(sys.modules)]))
"""


def test_one_command_loads_click_and_the_standard_library_and_no_other_command() -> None:
    environment = {"GROUNDCREW_URL": "http://127.0.0.1:1", "GROUNDCREW_TOKEN": "none", "HOME": "/nowhere"}
    done = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    code, loaded = json.loads(done.stdout)
    assert code == 1 and "does not answer" in done.stderr
    foreign = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names - {"__main__"}
    # Hooks that the environment puts into every interpreter.
    hooks = ("_", "a1_coverage", "coverage", "sitecustomize", "usercustomize")
    assert {name for name in foreign if not name.startswith(hooks)} == {
        "click",
        "portal",
    }
    assert {name for name in loaded if name.startswith("portal.cli.")} == {
        f"portal.cli.{name}" for name in NEEDED
    }


def test_the_command_has_the_version_of_its_installation() -> None:
    packages = [
        tomllib.loads((ROOT / path).read_text()) for path in ("pyproject.toml", "portal/cli/pyproject.toml")
    ]
    assert {VERSION, *(package["project"]["version"] for package in packages)} == {settings.VERSION}
    assert CliRunner().invoke(main, ["--version"]).output == f"groundcrew {VERSION}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_the_command(shell: str) -> None:
    printed = CliRunner().invoke(main, ["completion", shell])
    assert printed.exit_code == 0 and "_GROUNDCREW_COMPLETE" in printed.output
