"""Refusals of one submission are collected and raised at once."""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.names import check_user_name
from cluster.domain.refusals import Refusals


def fields_and_codes(refusals: Refusals) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as refusal:
        refusals.raise_all()
    return [(each.field, each.code) for each in refusal.value.each]


def test_nothing_is_raised_without_a_refusal() -> None:
    refusals = Refusals()
    assert refusals.check(check_user_name, "seoyeon") == "seoyeon"
    assert refusals.require("units", 0) == 0
    refusals.raise_all()


def test_all_fields_are_named_in_the_order_of_the_checks() -> None:
    refusals = Refusals()
    assert refusals.check(check_user_name, "Kim") is None
    with refusals.collect():
        raise Refused("units", "value.not_a_whole_number", value="x")
    refusals.require("ends_on", None)
    assert fields_and_codes(refusals) == [
        ("name", "name.bad_character"),
        ("units", "value.not_a_whole_number"),
        ("ends_on", "value.missing"),
    ]


def test_the_first_refusal_of_a_field_stays() -> None:
    refusals = Refusals()
    refusals.add(Refused("units", "value.not_a_whole_number", value="x"))
    refusals.require("units", None)
    assert fields_and_codes(refusals) == [("units", "value.not_a_whole_number")]


def test_a_refusal_that_speaks_for_several_fields_keeps_all_of_them() -> None:
    inner, outer = Refusals(), Refusals()
    inner.add(Refused("a", "value.missing"))
    inner.add(Refused("b", "value.missing"))
    outer.check(inner.raise_all)
    assert [field for field, _ in fields_and_codes(outer)] == ["a", "b"]
