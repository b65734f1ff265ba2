"""A person has two exports at a time, and a process sixteen."""

import pytest

from cluster.domain.errors import Unavailable
from portal.job_files.metrics.export_slots import CsvExportSlots


def test_a_person_has_two_slots_and_all_together_sixteen() -> None:
    slots = CsvExportSlots()
    held = [slots.take(person) for person in range(8) for _ in range(2)]
    for person in (0, 99):
        with pytest.raises(Unavailable, match=r"job\.too_many_files"):
            slots.take(person)
    held[0].close()
    slots.take(0)
