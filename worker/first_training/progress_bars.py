"""Show the stages of the first training: progress bars in a terminal, one line per change in a log."""

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

LINE_EVERY = 10.0
"""Seconds between two lines of one stage in a log file, if nothing else has changed."""


class StageProgressBars:
    """One line per stage (environment, data, training), each with a share done and a short text."""

    def __init__(self) -> None:
        self.console = Console()
        self.is_terminal = sys.stdout.isatty()
        self.progress = Progress(
            TextColumn("  {task.fields[title]}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[word]}"),
            console=self.console,
            disable=not self.is_terminal,
        )
        self.tasks: dict[str, TaskID] = {}
        self.last_lines: dict[str, tuple[str, float]] = {}

    def __enter__(self) -> "StageProgressBars":
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()

    def show(self, title: str, share: float, word: str) -> None:
        """`share` is 0 to 1. `title` identifies the stage."""
        if self.is_terminal:
            if title not in self.tasks:
                self.tasks[title] = self.progress.add_task("", total=1.0, title=title, word=word)
            self.progress.update(self.tasks[title], completed=share, word=word)
            return
        before, when = self.last_lines.get(title, ("", 0.0))
        if word != before or time.monotonic() - when > LINE_EVERY:
            self.last_lines[title] = (word, time.monotonic())
            print(f"  {title}  {share:4.0%}  {word}", flush=True)
