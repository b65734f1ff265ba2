"""Reads the plan that the scheduler wrote for the shim before the start: command, environment and user."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cluster.files.safe_read import read_small_file
from cluster.files.untrusted_numbers import whole_or_none

LARGEST_START_PLAN = 1024 * 1024


@dataclass(frozen=True)
class StartPlanFile:
    """`uid` is None if the program ran as its shim's own user. It could then have written its own exit record."""

    argv: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    ranks: int | None = None
    folder: str = ""
    uid: int | None = None
    gid: int | None = None
    container: str | None = None
    """The image of the container, in which shim and program have the same user. None for a process."""


def read_start_plan_file(root: Path, *control: str) -> StartPlanFile | None:
    """Returns None before the start. Without root the program may write here too, so the file is untrusted."""
    text = read_small_file(root, *control, "plan.json", limit=LARGEST_START_PLAN)
    try:
        plan = json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(plan, dict):
        return None
    argv, environment = plan.get("argv"), plan.get("environment")
    return StartPlanFile(
        tuple(str(word) for word in argv) if isinstance(argv, list) else (),
        {str(key): str(value) for key, value in sorted(environment.items())}
        if isinstance(environment, dict)
        else {},
        whole_or_none(plan.get("ranks")),
        str(plan.get("cwd") or ""),
        whole_or_none(plan.get("uid")),
        whole_or_none(plan.get("gid")),
        str(plan["container"]) if plan.get("container") else None,
    )
