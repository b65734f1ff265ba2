"""marshmallow's tree of messages becomes one error for each place of a request's body."""

from portal.web.validation_errors import flatten_messages


def test_each_message_has_its_path_and_that_of_the_whole_has_none() -> None:
    messages = {"units": ["Not a valid integer."], "rows": {0: {"name": ["a", "b"]}}, "_schema": ["whole"]}
    assert flatten_messages(messages) == [
        (("units",), "Not a valid integer."),
        (("rows", "0", "name"), "a"),
        (("rows", "0", "name"), "b"),
        ((), "whole"),
    ]
