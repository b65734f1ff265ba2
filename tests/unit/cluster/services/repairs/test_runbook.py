"""Each pattern of the runbook knows its sample, and each repair that it names exists."""

from pathlib import Path

import pytest

from cluster.services.context import Cluster
from cluster.services.repairs.runbook import find_symptom, read_symptoms
from cluster.words.english import SENTENCES
from tests.conftest import ANSIBLE

SAMPLES = sorted((Path(__file__).parents[4] / "data" / "runbook").glob("*.txt"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.stem)
def test_a_sample_is_known_by_its_own_sign(sample: Path, light_cluster: Cluster) -> None:
    match = find_symptom(light_cluster, "", sample.read_text().splitlines())
    assert match is not None and match.sign.name == sample.name.split(".")[0]
    assert match.line


def test_each_pattern_has_a_sample(light_cluster: Cluster) -> None:
    sampled = {sample.name.split(".")[0] for sample in SAMPLES}
    assert {sign.name for sign in read_symptoms(light_cluster) if sign.pattern} <= sampled


def test_each_repair_and_each_code_exists(light_cluster: Cluster) -> None:
    for sign in read_symptoms(light_cluster):
        assert all((ANSIBLE / "repairs" / f"{name}.yml").exists() for name in sign.repairs), sign
        assert sign.codes <= set(SENTENCES), sign.codes - set(SENTENCES)


def test_a_code_says_more_than_a_line_and_a_late_line_more_than_an_early_one(light_cluster: Cluster) -> None:
    lines = ["a certificate has expired", "OSError: No space left on device", "bye"]
    late = find_symptom(light_cluster, "exit.code", lines)
    assert late is not None and (late.sign.name, late.line) == ("disk-full", lines[1])
    by_code = find_symptom(light_cluster, "operation.dropped", lines)
    assert by_code is not None and by_code.sign.name == "operation-dropped"
    assert find_symptom(light_cluster, "exit.code", ["all is well"]) is None
