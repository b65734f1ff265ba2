"""What is wrong with the body of a sweep."""

from typing import Any

import pytest

from tests.pages.portal.api.sweeps.test_sweeps import submit
from tests.pages.portal.rest_lab import Lab


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"values": {}}, "/values"),
        ({"values": [1]}, "/values"),
        ({"values": {"epochs": [1, None]}}, "/values"),
        ({"values": {"epochs": [True]}}, "/values"),
        ({"values": {"epochs": [[1]]}}, "/values"),
        ({"values": {"epochs": [1, 0]}}, "/values/epochs"),
        ({"values": {"epochs": [1, 1]}}, "/values/epochs"),
        ({"values": {"speed": [1, 2]}}, "/values/speed"),
        ({"values": {"epochs": "1..99999"}}, "/values/epochs"),
        ({"values": {"epochs": list(range(1, 200)), "batch_size": list(range(1, 200))}}, "/values"),
        ({"values": {"epochs": [1, 2], "seed": [1, 2, 3]}, "kind": "list"}, "/values/epochs"),
        ({"variables": {"epochs": 3}}, "/values/epochs"),
        ({"kind": "random"}, "/kind"),
        ({"most_at_once": 0}, "/most_at_once"),
        ({"most_at_once": 1.5}, "/most_at_once"),
        ({"stop_on_trouble": "perhaps"}, "/stop_on_trouble"),
        ({"units": 99, "launcher": "horovod"}, "/units"),
        ({"surprise": 1}, "/surprise"),
    ],
)
@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_bad_body_names_the_field_in_the_callers_language(
    lab: Lab, changes: dict[str, Any], pointer: str, language: str
) -> None:
    answer = submit(lab, {"Accept-Language": language}, **changes)
    assert answer.status_code == 422
    assert answer.content_type == "application/problem+json"
    errors = answer.json["errors"]
    assert pointer in "".join(error["pointer"] for error in errors)
    message = errors[0]["message"]
    assert any("가" <= letter <= "힣" for letter in message) == (language == "ko"), message
