"""What the command loads before it sends a request."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
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
        f"portal.cli.{name}"
        for name in ("client", "config", "http_request", "jobs", "main", "messages", "output", "submission")
    }
