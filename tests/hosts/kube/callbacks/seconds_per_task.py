"""Writes into the file that SECONDS_PER_TASK names how long each task of a run took, on the slowest host."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: seconds_per_task
type: aggregate
short_description: Seconds per task, as JSON
description: Read by the tests of Kubernetes on hosts.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "seconds_per_task"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[str, float] = {}
        self.current, self.since = "", time.monotonic()

    def turn_to(self, name: str) -> None:
        now = time.monotonic()
        if self.current:
            self.seconds[self.current] = round(self.seconds.get(self.current, 0.0) + now - self.since, 1)
        self.current, self.since = name, now

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        self.turn_to(task.get_name())

    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        self.turn_to(task.get_name())

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self.turn_to("")
        Path(os.environ["SECONDS_PER_TASK"]).write_text(json.dumps(self.seconds))
