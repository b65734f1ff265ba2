"""Reads the start plan. As root it accepts only folders and files that nobody but root can have written."""

import json
import os
from typing import Any, Dict

import safe_files

HERE = os.path.dirname(os.path.abspath(__file__))
JOB_IDS = "job-ids.json"
"""The file beside this module with the uids and gids that jobs may have. Root installs it."""
MIN_UID = 1000
"""Smaller uids belong to root and to services of the machine."""
MOST_BYTES = 16 * 1024 * 1024


def read_start_plan(folder: str) -> Dict[str, Any]:
    """Reads the plan. Raises OSError, whose subclass safe_files.UnsafeFile means an untrusted plan, and ValueError
    for invalid JSON.
    """
    with safe_files.open_folder_path(os.path.dirname(folder)) as job:
        attempt = safe_files.open_folder_at(os.path.basename(folder), job)
        try:
            plan: Dict[str, Any] = json.loads(read_trusted_plan(attempt).decode())
        finally:
            os.close(attempt)
    if os.geteuid() == 0:
        check_job_ids(plan)
    return plan


def read_trusted_plan(attempt: int) -> bytes:
    """The bytes of control/plan.json."""
    check_owned_by_root(attempt, "the folder of the attempt")
    control = safe_files.open_folder_at("control", attempt)
    try:
        check_owned_by_root(control, "control")
        return read_trusted_file(control, "plan.json")
    finally:
        os.close(control)


def read_trusted_file(folder: int, name: str) -> bytes:
    file = safe_files.open_plain_at(folder, name)
    try:
        check_owned_by_root(file, name)
        return safe_files.read_all(file, MOST_BYTES)
    finally:
        os.close(file)


def check_owned_by_root(descriptor: int, name: str) -> None:
    """Raises UnsafeFile if this process is root and another user could have written the file. Without root no check
    is needed, because the plan gives no rights that its writer lacks.
    """
    if os.geteuid() == 0:
        safe_files.check_owner(descriptor, name, (0,))


def check_job_ids(plan: Dict[str, Any]) -> None:
    """Checks that root would become a user of this installation. Raises safe_files.UnsafeFile."""
    with safe_files.open_folder_path(HERE) as runtime:
        known = json.loads(read_trusted_file(runtime, JOB_IDS).decode())
    for field in ("uid", "gid"):
        number, base = plan.get(field), known[field + "_base"]
        first, last = max(base + 1, MIN_UID), base + known["count"] - 1
        if not isinstance(number, int) or not first <= number <= last:
            why = "its %s is %r, and jobs run as %d to %d" % (field, number, first, last)
            raise safe_files.unsafe_file("plan.json", why)
