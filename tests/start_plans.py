"""Start plans of tests: the fields of their parts are given by name, whichever part has them."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from worker.executors.contract import ContainerPlan, PlacementPlan, ProgramPlan, StartPlan

PARTS = {"program": ProgramPlan, "placement": PlacementPlan, "container": ContainerPlan}
PART_OF = {each.name: part for part, kind in PARTS.items() for each in fields(kind)}


def a_start_plan(
    job: int,
    attempt: int,
    folder: Path,
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    **values: Any,
) -> StartPlan:
    return change_plan(StartPlan(job, attempt, folder, ProgramPlan(argv, environment)), **values)


def change_plan(plan: StartPlan, **values: Any) -> StartPlan:
    """`plan` with these fields, its own or of its parts."""
    changed: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    own = {name: value for name, value in values.items() if name not in PART_OF}
    for name, part in PART_OF.items():
        if name in values:
            changed[part][name] = values[name]
    parts = {part: replace(getattr(plan, part), **new) for part, new in changed.items() if new}
    return replace(plan, **parts, **own)
