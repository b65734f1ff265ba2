"""Anchors of the access log stand in the manifests of backups."""

import pytest

from worker.backups.audit_anchors import parse_timestamp


@pytest.mark.parametrize("text", ["2026-11-21T05:00:00", "", "yesterday", None, 5])
def test_a_time_that_names_no_moment_is_none(text: object) -> None:
    assert parse_timestamp(text) is None
