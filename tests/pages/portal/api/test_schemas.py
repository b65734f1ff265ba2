"""More values than anything takes are refused before each is looked at."""

import pytest

from portal.api.schemas import VariableValueField
from tests.pages.portal.rest_lab import Lab


@pytest.mark.parametrize(
    "body",
    [
        {"training_id": 1, "variables": {f"v{number}": number for number in range(30_000)}},
        {"training_id": 1, "command": ["x"] * 60_000},
    ],
    ids=["an object", "a list"],
)
def test_more_values_than_anything_takes_are_refused_before_each_is_looked_at(
    lab: Lab, body: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[object] = []
    monkeypatch.setattr(
        VariableValueField, "_deserialize", lambda self, value, *rest, **more: looked_at.append(value)
    )
    answer = lab.client.post("/api/v1/jobs", json=body, headers=lab.headers())
    assert answer.status_code == 422
    assert looked_at == []
    assert answer.json["detail"] == (
        "The body has more than 20,000 values. Send less at once: nothing here takes so many."
    )
