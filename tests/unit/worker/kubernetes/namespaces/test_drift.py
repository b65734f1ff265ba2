"""Differences between an object and its manifest are found field by field, and what was added is removed."""

from typing import Any

import pytest

from worker.kubernetes.namespaces.drift import (
    FINGERPRINT,
    FieldDifference,
    compare_fields,
    find_differences,
    find_overruled,
    is_removed,
    is_same_value,
    object_fingerprint,
    removal_patch,
    was_written_by_us,
    with_fingerprint,
)

QUOTA: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "units", "labels": {"ours": "yes"}},
    "spec": {"hard": {"pods": "10", "memory": "1M"}},
}


def changed(**parts: Any) -> dict[str, Any]:
    return QUOTA | parts


def test_an_object_carries_what_we_wanted_and_shows_who_wrote_it_last() -> None:
    written = with_fingerprint(QUOTA)
    assert written["metadata"]["annotations"] == {FINGERPRINT: object_fingerprint(QUOTA)}
    assert "annotations" not in QUOTA["metadata"]
    assert was_written_by_us(QUOTA, written)
    assert not was_written_by_us(QUOTA, QUOTA)
    assert not was_written_by_us(changed(spec={"hard": {"pods": "11"}}), written)
    assert object_fingerprint(dict(reversed(QUOTA.items()))) == object_fingerprint(QUOTA)


@pytest.mark.parametrize(
    ("wanted", "found", "is_same"),
    [
        ("1M", "1000k", True),
        ("1", 1, True),
        ("10", "11", False),
        ("yes", "no", False),
        (None, [], True),
        ({}, None, True),
        (False, None, False),
        (None, False, False),
        ("1", True, False),
        (3, 4, False),
    ],
)
def test_quantities_and_empty_values_may_be_written_in_another_way(
    wanted: Any, found: Any, is_same: bool
) -> None:
    assert is_same_value(wanted, found) is is_same


@pytest.mark.parametrize(
    ("found", "differences"),
    [
        (QUOTA, []),
        (changed(spec={"hard": {"pods": "10", "memory": "1000k"}}), []),
        (
            changed(spec={"hard": {"pods": "12", "memory": "1M"}}),
            [FieldDifference(("spec", "hard", "pods"), "12", "10")],
        ),
        (
            changed(spec={"hard": {"pods": "10", "memory": "1M", "cpu": "1"}}),
            [FieldDifference(("spec", "hard", "cpu"), "1", None)],
        ),
        (changed(metadata={"name": "units", "labels": {"ours": "yes", "theirs": "yes"}}), []),
        (changed(metadata={"name": "units"}), [FieldDifference(("metadata", "labels", "ours"), None, "yes")]),
    ],
    ids=["the same", "other quantity", "changed", "added", "label of others", "label gone"],
)
def test_labels_of_others_are_left_and_the_rest_is_ours(
    found: dict[str, Any], differences: list[FieldDifference]
) -> None:
    assert find_differences(QUOTA, found) == differences


def test_a_namespace_may_have_more_fields_than_we_set() -> None:
    namespace = {"kind": "Namespace", "metadata": {"name": "team"}, "spec": {"ours": "1"}}
    found = namespace | {"spec": {"ours": "1", "finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    assert find_differences(namespace, found) == []
    assert find_differences(namespace, namespace | {"spec": {"ours": "2"}}) != []


def test_lists_of_one_length_are_compared_item_by_item_and_others_whole() -> None:
    assert list(compare_fields(("rules",), [{"a": 1}], [{"a": 2}], True)) == [
        FieldDifference(("rules", "0", "a"), 2, 1)
    ]
    assert list(compare_fields(("rules",), [1], [1, 2], True)) == [FieldDifference(("rules",), [1, 2], [1])]


ADDED = FieldDifference(("spec", "hard", "cpu"), "1", None)
CHANGED = FieldDifference(("spec", "hard", "pods"), "12", "10")
IN_LIST = FieldDifference(("spec", "rules", "0", "extra"), "1", None)
LABEL = FieldDifference(("metadata", "labels", "extra"), "1", None)


@pytest.mark.parametrize(
    ("difference", "expected"), [(ADDED, True), (CHANGED, False), (IN_LIST, False), (LABEL, False)]
)
def test_fields_that_were_added_are_removed_by_name(difference: FieldDifference, expected: bool) -> None:
    assert is_removed(difference) is expected


def test_the_patch_removes_what_was_added_and_nothing_else() -> None:
    assert removal_patch([ADDED, CHANGED, IN_LIST, LABEL]) == {"spec": {"hard": {"cpu": None}}}
    assert removal_patch([CHANGED]) == {}
    assert ADDED.to_data() == {"path": "spec hard cpu", "found": "1", "wanted": None}


def test_what_our_own_writing_leaves_as_it_was_is_overruled_by_the_server() -> None:
    found = changed(spec={"hard": {"pods": "12", "memory": "1M", "cpu": "1"}})
    differences = find_differences(QUOTA, found)
    assert differences == [ADDED, CHANGED]
    assert find_overruled(QUOTA, differences, QUOTA, QUOTA) == ()
    assert find_overruled(QUOTA, differences, found, QUOTA) == (ADDED,)
    assert find_overruled(QUOTA, differences, QUOTA, found) == (CHANGED,)
    assert find_overruled(QUOTA, differences, None, found) == (CHANGED,)
