"""Kills Ansible itself, without a word, when the next task or handler begins after one of a given name."""

from __future__ import annotations

import os
import signal
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: killed_after
type: aggregate
short_description: Kills this run after a task
description: The name of the role and of the task come by the environment variable KILLED_AFTER.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "killed_after"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self.is_next = False

    def end(self) -> None:
        if self.is_next:
            os.kill(os.getpid(), signal.SIGKILL)

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        self.end()
        self.is_next = task.get_name() == os.environ["KILLED_AFTER"]

    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        self.end()

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self.end()
