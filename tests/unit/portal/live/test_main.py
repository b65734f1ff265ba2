"""The process of streams is small: what pages, jobs and repairs need is none of its business."""

import subprocess
import sys

FOREIGN = ("ansible_runner", "docker", "flask", "httpx", "jinja2", "kubernetes", "supervisor", "werkzeug")
LISTED = "import sys, portal.live.__main__; print(*sys.modules)"


def test_it_imports_nothing_that_it_does_not_use() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LISTED], capture_output=True, text=True, check=True, timeout=60
    )
    modules = {name.partition(".")[0] for name in done.stdout.split()}
    assert {"uvicorn", "sqlalchemy", "portal"} <= modules
    assert not modules & set(FOREIGN)
