"""Takes protections of an installed master away, one at a time: ``python -m tests.adversaries.installed_mutants TREE``.

As root, with the settings of the scheduler. For each, installed files are changed or a command is given, the scheduler
starts anew, the move that has to be seen is played (`installed.py`), and all is as it was. A line of JSON says what was
seen: empty where the adversary would have missed it.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.adversaries import missing_protections as missing
from tests.adversaries.installed import STATE, ask, say

SCHEDULER = "groundcrew-scheduler"
COPIED = "copied: a secret stands in "
PRIVILEGES = {
    "audit_entries": {"groundcrew": "select, insert", "groundcrew_ssh": "select, insert"},
    "audit_seals": {"groundcrew": "select", "groundcrew_sealer": "insert"},
}
"""Of the access log's tables; a table's former owner loses what it was granted."""
DOOR = "/run/groundcrew/repair-run.sock"


@dataclass(frozen=True)
class InstalledMutant:
    """`move` has to be seen as `seen` while `texts` stand below modules, and `command` was given to root's shell."""

    name: str
    move: str
    seen: str
    texts: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    undo: str = ""


MUTANTS = (
    InstalledMutant(
        "any_number_of_a_row_is_a_user",
        "user_is_root",
        "ran: a program as 0",
        {"cluster.domain.jobs.unix_ids": missing.ANY_NUMBER, "worker.inside.shim_plan": missing.ANY_USER},
    ),
    InstalledMutant(
        "code_is_read_with_the_rights_of_root",
        "code_is_a_link",
        "copied: a secret stands in",
        {"worker.inside.shim_program": missing.AS_ROOT},
    ),
    InstalledMutant(
        "datasets_are_given_away_by_path",
        "dataset_is_a_link",
        "root-only",
        {"cluster.services.storage.folders": missing.DATASETS_BY_PATH},
    ),
    InstalledMutant(
        "packages_of_an_image_are_taken_by_path",
        "packages_of_an_image_are_links",
        "copied: a secret stands in",
        {"worker.images.image_wheels": missing.WHEELS_BY_PATH},
    ),
    InstalledMutant(
        "whatever_lies_beside_packages_is_compiled",
        "sources_of_an_image_are_ours",
        "which nobody has pinned",
        {"worker.images.image_wheels": missing.ANY_WHEEL},
    ),
    InstalledMutant(
        "the_door_of_repairs_is_open_to_all",
        "repairs_are_asked_for_directly",
        "was not refused",
        command=f"chmod 666 {DOOR}",
        undo=f"chmod 600 {DOOR}",
    ),
    InstalledMutant(
        "the_newest_seal_may_be_replaced",
        "seals_are_ours",
        "was not refused",
        command=f"chown groundcrew: {STATE}/audit",
        undo=f"chown root: {STATE}/audit",
    ),
)
OF_THE_AUDIT = "the_services_own_the_access_log"
"""As before there was an owner's role: all that is in the way then is a trigger, and its owner switches it off."""


@contextmanager
def changed(mutant: InstalledMutant) -> Iterator[None]:
    """Files have their former times afterwards: what was compiled of them counts again."""
    files = {file_of(module): text for module, text in mutant.texts.items()}
    before = {file: (file.read_bytes(), file.stat()) for file in files}
    try:
        for file, text in files.items():
            file.write_bytes(before[file][0] + text.encode())
        if mutant.command:
            subprocess.run(["/bin/sh", "-c", mutant.command], check=True)
        if files:
            restart()
        yield
    finally:
        for file, (content, status) in before.items():
            file.write_bytes(content)
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        if mutant.undo:
            subprocess.run(["/bin/sh", "-c", mutant.undo], check=True)
        if files:
            restart()


def file_of(module: str) -> Path:
    found = importlib.util.find_spec(module)
    assert found is not None and found.origin is not None, module
    return Path(found.origin)


def restart() -> None:
    subprocess.run(["systemctl", "restart", SCHEDULER], check=True)


def seen_of(mutant: InstalledMutant, tree: Path) -> str:
    """What was seen of it; empty where nothing was."""
    words = [sys.executable, "-B", "-m", "tests.adversaries.installed", str(tree), mutant.move]
    with changed(mutant):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    forget(line["changes"])
    seen = next((change for change in line["changes"] if mutant.seen in change), "")
    return seen.strip().rpartition("\n")[2]


def forget(changes: Sequence[str]) -> None:
    """Of what an adversary has got hold of nothing is left that would be seen again with the next mutant."""
    for change in changes:
        if change.startswith(COPIED):
            Path(change.removeprefix(COPIED)).unlink(missing_ok=True)
    shutil.rmtree(STATE / "outside")


def seen_of_the_audit() -> str:
    """The first of the statements that the database should have refused, and has not."""
    ask("; ".join(f"alter table {table} owner to groundcrew" for table in PRIVILEGES))
    try:
        words = [sys.executable, "-B", "-m", "tests.adversaries.installed_audit", "roles"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    finally:
        for table, privileges in PRIVILEGES.items():
            ask(f"alter table {table} owner to groundcrew_owner; alter table {table} enable trigger all")
            ask("; ".join(f"grant {each} on {table} to {role}" for role, each in privileges.items()))
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return next((f"not refused: {line['move']}" for line in lines if not line["refusal"]), "")


def main(arguments: list[str]) -> int:
    assert os.geteuid() == 0
    tree, names = Path(arguments[0]), arguments[1:]
    for mutant in MUTANTS:
        if not names or mutant.name in names:
            say(mutant=mutant.name, move=mutant.move, seen=seen_of(mutant, tree))
    if not names or OF_THE_AUDIT in names:
        say(mutant=OF_THE_AUDIT, move="access log", seen=seen_of_the_audit())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
