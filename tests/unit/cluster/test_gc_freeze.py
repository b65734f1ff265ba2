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


LOADING = """
import gc, sys
from worker.__main__ import FOR_A_PERSON, SERVICES, load

for path in (SERVICES[name] for name in {names}):
    load(path)
assert gc.isenabled() and gc.get_freeze_count() > 10_000
print(*{slow}.intersection(sys.modules))
"""


def test_services_import_no_client_that_their_installation_does_not_use() -> None:
    slow = {"alembic", "docker", "kubernetes", "psycopg"}
    program = LOADING.format(names=["scheduler", "tasks", "agent"], slow=slow)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
