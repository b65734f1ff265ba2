import subprocess
import sys

PROGRAM = """
import gc
import cluster.store.tables
from cluster.gc_freeze import freeze_startup_objects

freeze_startup_objects()
print(gc.get_freeze_count() > 10_000, len(gc.get_objects(generation=2)) < 1_000)
"""


def test_what_is_there_at_the_start_is_never_walked_again() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
