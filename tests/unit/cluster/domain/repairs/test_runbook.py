"""The runbook: each sign fits its sample and no other's, and leads to a repair that exists."""

import pytest

from cluster.domain.repairs.definition import CatalogueInvalid
from cluster.domain.repairs.runbook import match_symptoms, parse_symptoms
from cluster.services.context import Cluster
from cluster.services.repairs.runbook import read_symptoms


def test_only_the_beginning_of_an_endless_line_is_looked_at(light_cluster: Cluster) -> None:
    signs = read_symptoms(light_cluster)
    assert match_symptoms(signs, "", ["x" * 3000 + "No space left on device"]) is None


@pytest.mark.parametrize(
    "sign",
    [
        {"name": "a"},
        {"name": "a", "pattern": "("},
        {"name": "A b", "pattern": "x", "cause": {"en": "x", "ko": "x"}},
        {"name": "a", "cause": {"en": "x", "ko": "x"}},
        {"name": "a", "pattern": "x", "cause": {"en": "x", "ko": "x"}, "run": "rm"},
    ],
)
def test_a_sign_that_says_anything_else_is_refused(sign: dict[str, object]) -> None:
    with pytest.raises(CatalogueInvalid):
        parse_symptoms("site.yml", {"signs": [sign]})
