"""REST takes JSON objects of known fields alone."""

import pytest

from tests.pages.portal.rest_lab import Lab


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[1]", 422),
        (b'{"training_id": 1, "units": NaN}', 422),
        (b"[" * 100_000, 400),
        (b'{"units": ' + b"9" * 5000 + b"}", 400),
        (b'{"a":' * 80_000 + b"1" + b"}" * 80_000, 400),
        (b'{"command": [' + b'"x",' * 25_000 + b'"x"]}', 422),
        (b'{"command": ["' + b"x" * 600_000 + b'"]}', 413),
        (b"\xff\xfe", 400),
    ],
)
def test_what_is_not_a_json_object_is_refused_and_is_no_fault_of_ours(
    lab: Lab, body: bytes, status: int
) -> None:
    headers = {**lab.headers(), "Content-Type": "application/json"}
    answer = lab.client.post("/api/v1/jobs", data=body, headers=headers)
    assert answer.status_code == status
    assert answer.content_type == "application/problem+json"
