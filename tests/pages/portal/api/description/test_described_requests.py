"""Requests made of the OpenAPI description, with the token of every kind of person: no 5xx, and every answer as
described (S31).
"""

import pytest

from tests.pages.portal.api.description.described_requests import send_described_requests
from tests.pages.portal.filled_portal import KINDS, House

SHOWN = 10
FEW, MANY = 1, 10


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_described(house: House, kind: str) -> None:
    answers = send_described_requests(house, kind, FEW)
    assert answers.requests >= 66
    assert not answers.differences, "\n\n".join(answers.differences[:SHOWN])


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_described_also_at_each_boundary(house: House, kind: str) -> None:
    answers = send_described_requests(house, kind, MANY, is_whole=True)
    assert not answers.differences, "\n\n".join(answers.differences[:SHOWN])
