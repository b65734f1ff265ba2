"""People choose environments of their workspaces, and learn what a job would lack in one."""

import pytest

from cluster.domain.environments.choices import (
    EnvironmentTerms,
    check_built_in_model,
    check_choice,
    is_too_old,
    launcher_warnings,
)
from cluster.domain.errors import Refused
from cluster.domain.states import EnvironmentSource, EnvironmentState, Launcher


def terms(**changes: object) -> EnvironmentTerms:
    usual: dict[str, object] = {
        "id": 7,
        "name": "torch-2.7",
        "source": EnvironmentSource.REQUIREMENTS,
        "state": EnvironmentState.READY,
        "python": "3.11.2",
        "is_deleted": False,
        "is_global": True,
    }
    return EnvironmentTerms(**(usual | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("chosen", "is_in_image", "code"),
    [
        (terms(), False, None),
        (terms(state=EnvironmentState.BUILDING, python=""), False, None),
        (terms(is_global=False, workspace_ids=frozenset({3})), False, None),
        (terms(is_global=False, workspace_ids=frozenset({4})), False, "job.environment_unknown"),
        (terms(is_global=False, is_deleted=True), False, "job.environment_unknown"),
        (terms(is_deleted=True), False, "job.environment_deleted"),
        (terms(state=EnvironmentState.FAILED), False, "job.environment_failed"),
        (terms(state=EnvironmentState.UNAPPROVED), False, "job.environment_not_approved"),
        (terms(source=EnvironmentSource.NOTEBOOK), False, None),
        (terms(source=EnvironmentSource.NOTEBOOK), True, "job.environment_elsewhere"),
        (terms(), True, "job.environment_elsewhere"),
        (terms(source=EnvironmentSource.IMAGE), False, "job.environment_elsewhere"),
        (terms(source=EnvironmentSource.IMAGE), True, None),
        (terms(python="3.5.9"), False, "job.environment_python_too_old"),
        (terms(python="2.7.18"), False, "job.environment_python_too_old"),
    ],
)
def test_a_choice_is_refused_where_no_job_could_run(
    chosen: EnvironmentTerms, is_in_image: bool, code: str | None
) -> None:
    if code is None:
        check_choice(chosen, 3, is_in_image)
        return
    with pytest.raises(Refused) as refusal:
        check_choice(chosen, 3, is_in_image)
    assert (refusal.value.field, refusal.value.code) == ("environment", code)


@pytest.mark.parametrize(
    ("python", "expected"),
    [
        ("3.6", False),
        ("3.6.15", False),
        ("3.11.2", False),
        ("3.5.10", True),
        ("2.7", True),
        ("", False),
        ("?", False),
    ],
)
def test_what_runs_inside_a_job_needs_python_3_6(python: str, expected: bool) -> None:
    assert is_too_old(python) is expected


@pytest.mark.parametrize(
    ("launcher", "libraries", "codes"),
    [
        (Launcher.TORCHRUN, ["numpy"], ["job.torch_missing"]),
        (Launcher.TORCHRUN, ["torch"], []),
        (Launcher.HOROVOD, ["torch"], ["job.horovod_missing"]),
        (Launcher.HOROVOD, ["horovod"], []),
        (Launcher.PLAIN, ["numpy"], []),
        (Launcher.TORCHRUN, [], []),
    ],
)
def test_a_launcher_without_its_library_is_told(
    launcher: Launcher, libraries: list[str], codes: list[str]
) -> None:
    warnings = launcher_warnings(launcher, libraries, "torch-2.7")
    assert [(one.field, one.code) for one in warnings] == [("launcher", code) for code in codes]


@pytest.mark.parametrize(
    ("libraries", "missing"),
    [
        (["tensorflow-cpu", "horovod"], []),
        (["tensorflow", "horovod"], []),
        (["tensorflow"], ["horovod"]),
        (["torch"], ["tensorflow", "horovod"]),
        ([], []),
    ],
)
def test_a_built_in_model_needs_its_libraries(libraries: list[str], missing: list[str]) -> None:
    if not missing:
        check_built_in_model("lenet", libraries, "torch-2.7")
        return
    with pytest.raises(Refused) as refusal:
        check_built_in_model("lenet", libraries, "torch-2.7")
    assert refusal.value.data["libraries"] == missing
