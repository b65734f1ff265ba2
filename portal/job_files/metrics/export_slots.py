"""Bounds the CSV exports that a process makes at a time, in all and for one person."""

import threading
from collections import Counter

from flask import Flask

from cluster.domain.errors import Unavailable
from portal.shared_objects import share_object

EXPORT_SLOTS, EXPORT_SLOTS_PER_PERSON = 16, 2
"""The slots of each process. An export holds one of its threads for as long as its reader takes."""


def init_app(app: Flask) -> None:
    share_object(app, CsvExportSlots, CsvExportSlots())


class CsvExportSlots:
    """The number of exports in progress, per person and together."""

    def __init__(self) -> None:
        self.used_by_person: Counter[int] = Counter()
        self.lock = threading.Lock()

    def take(self, user_id: int) -> "CsvExportSlot":
        """Raises Unavailable if the person's slots, or all slots, are taken."""
        with self.lock:
            used = self.used_by_person
            if used[user_id] >= EXPORT_SLOTS_PER_PERSON or used.total() >= EXPORT_SLOTS:
                raise Unavailable("job.too_many_files")
            used[user_id] += 1
            return CsvExportSlot(self, user_id)


class CsvExportSlot:
    """The slot is freed once, at the end of the file or of the request."""

    def __init__(self, slots: CsvExportSlots, user_id: int) -> None:
        self.slots = slots
        self.user_id = user_id
        self.is_taken = True

    def close(self) -> None:
        with self.slots.lock:
            if self.is_taken:
                self.is_taken = False
                self.slots.used_by_person[self.user_id] -= 1
