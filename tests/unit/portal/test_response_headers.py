"""A request keeps the id that a proxy gave it, if it is one."""

import pytest

from portal.response_headers import choose_request_id


@pytest.mark.parametrize("given", ["0123abcd", "a.b-c_D9", "x" * 64])
def test_a_well_formed_id_is_kept(given: str) -> None:
    assert choose_request_id(given) == given


@pytest.mark.parametrize("given", ["", "short", "x" * 65, "with space", "line\nbreak-line", 'quote"quote'])
def test_any_other_is_replaced_by_one_of_ours(given: str) -> None:
    first, second = choose_request_id(given), choose_request_id(given)
    assert len(first) == 16 and first != second and first != given
