"""An edit is merged with what others have changed meanwhile."""

from datetime import UTC, datetime

from cluster.domain.workspace_edits import combine_changes, merge_edit

NOON, ONE = datetime(2026, 11, 20, 12, tzinfo=UTC), datetime(2026, 11, 20, 13, tzinfo=UTC)


def test_several_edits_are_one_change_per_field() -> None:
    changes = combine_changes(
        [
            ("jisoo", NOON, {"units": [2, 3], "description": ["", "ours"]}),
            ("hjkim", ONE, {"units": [3, 4], "description": ["ours", ""]}),
        ]
    )
    assert [(change.field, change.before, change.after, change.by, change.at) for change in changes] == [
        ("units", 2, 4, "hjkim", ONE)
    ]


def test_a_field_that_the_person_left_alone_takes_what_others_stored() -> None:
    changes = combine_changes([("hjkim", NOON, {"units": [2, 4], "name": ["vision", "speech"]})])
    typed = {"units": 2, "name": "robots", "description": "mine"}
    assert merge_edit(typed, changes) == {"units": 4, "name": "robots", "description": "mine"}
