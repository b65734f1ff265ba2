"""Errors carry a code and its data; each kind says what the caller can do."""

from cluster.domain.errors import Conflict, GroundcrewError, NotFound, Refused


def test_a_refusal_names_its_field_and_reads_as_code_and_data() -> None:
    error = Refused("units", "job.too_many_units", most=8, node="gpu01")
    assert (error.field, error.code, error.data) == (
        "units",
        "job.too_many_units",
        {"most": 8, "node": "gpu01"},
    )
    assert str(error) == "job.too_many_units(most=8, node='gpu01')"


def test_what_is_not_found_has_the_code_of_its_kind() -> None:
    error = NotFound("job", 7)
    assert (error.kind, error.code, error.data) == ("job", "not_found.job", {"id": 7})
    assert isinstance(error, GroundcrewError)
    assert str(Conflict("job.ended")) == "job.ended()"
