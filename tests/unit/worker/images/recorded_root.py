"""A root file system whose programs are not run: what they would be called with, and what they print."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worker.environments.build_steps import BuildStep, BuildStepProgress
from worker.environments.command_runner import CommandRunner
from worker.environments.errors import BuildStepFailed
from worker.images.root_filesystem import RootFilesystem


@dataclass(frozen=True)
class RecordedRoot(RootFilesystem):
    prints: list[list[str]] = field(default_factory=list)
    """Of the first program, the second …; nothing once it is empty."""
    calls: list[tuple[list[str], dict[str, Any]]] = field(default_factory=list)
    fails: bool = False

    def run_inside(self, command: Sequence[str | Path], **options: Any) -> list[str]:  # type: ignore[override]
        self.calls.append(([str(word) for word in command], options))
        if self.fails:
            raise BuildStepFailed("environment.step_failed", line="NotFoundError", log="")
        return self.prints.pop(0) if self.prints else []


def recorded_root(folder: Path, *prints: list[str], fails: bool = False) -> RecordedRoot:
    for name in ("root", "work"):
        (folder / name).mkdir()
    commands = CommandRunner(folder / "log", "mark")
    return RecordedRoot(folder / "root", folder / "work", commands, list(prints), fails=fails)


def some_progress() -> BuildStepProgress:
    return BuildStepProgress(lambda *_: None, BuildStep.INSTALL)
