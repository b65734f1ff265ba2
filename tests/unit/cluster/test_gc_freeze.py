"""Objects of a started process are no work for the collector."""

import subprocess
import sys

from cluster.gc_freeze import freeze_startup_objects


def test_a_process_that_has_started_freezes_what_it_has_imported_and_collects_from_then_on() -> None:
    program = (
        "import gc\n"
        "gc.disable()\n"
        f"from {freeze_startup_objects.__module__} import {freeze_startup_objects.__name__}\n"
        f"{freeze_startup_objects.__name__}()\n"
        "print(gc.get_freeze_count(), gc.isenabled())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    frozen, is_enabled = done.stdout.split()
    assert int(frozen) > 1000
    assert is_enabled == "True"
