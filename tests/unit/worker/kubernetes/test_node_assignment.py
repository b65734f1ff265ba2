"""The nodes that a run was given are read as they were written."""

import pytest

from worker.kubernetes.node_assignment import parse_assignment


@pytest.mark.parametrize(
    ("text", "places"),
    [("gpu01=2,gpu02=1", ["gpu01", "gpu01", "gpu02"]), ("", []), ("gpu01", []), ("gpu01=x", []), ("=2", [])],
)
def test_places_are_read_as_they_are_written(text: str, places: list[str]) -> None:
    assert parse_assignment(text) == places
