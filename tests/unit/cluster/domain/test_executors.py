"""What kinds of executors can do fits together, whichever are added."""

import pytest

from cluster.domain.executors import CAPABILITIES, ExecutorKind


@pytest.mark.parametrize("kind", ExecutorKind)
def test_the_capabilities_of_a_kind_contradict_nothing(kind: ExecutorKind) -> None:
    can = kind.capabilities
    assert can is CAPABILITIES[kind]
    assert can.needs_image or not can.has_environment_in_image
    assert can.is_local or can.has_environment_in_image, "another node has no environment of this machine"
    assert can.is_local or can.spreads_over_nodes
    isolates_files = can.needs_image or can.sandboxes_files or can.is_simulated
    assert isolates_files, "a program that runs sees no file of the installation"
    assert not (can.needs_image and can.sandboxes_files)


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("spreads_over_nodes", {ExecutorKind.KUBERNETES, ExecutorKind.SIMULATED}),
        ("needs_image", {ExecutorKind.KUBERNETES, ExecutorKind.DOCKER}),
        ("is_simulated", {ExecutorKind.SIMULATED}),
    ],
)
def test_each_question_has_its_kinds(question: str, kinds: set[ExecutorKind]) -> None:
    assert {kind for kind in ExecutorKind if getattr(kind.capabilities, question)} == kinds
