"""Volumes that runs share in Kubernetes go once no run wants them, and are there again for the next one that does."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.kube.host_stage import HostStage
from tests.hosts.kube.host_stage import stage as stage
from tests.hosts.kube.host_stage import tenant as tenant
from tests.hosts.machines.testbed import STORAGE
from tests.integration.worker.executors.executor_stages import end_of, until
from tests.start_plans import change_plan
from worker.executors.contract import Mount, StartPlan
from worker.executors.kubernetes_shared_objects import UNUSED_SECONDS
from worker.kubernetes import object_names

pytestmark = pytest.mark.long
TARGET = Path("/groundcrew/words")


@pytest.fixture
def dataset(stage: HostStage) -> Iterator[Path]:
    """A folder of the storage that is no workspace's own, as one that was registered by its path."""
    folder = Path(STORAGE) / f"words-{stage.workspace}"
    folder.mkdir()
    (folder / "word").write_text("cumulus\n")
    yield folder
    (folder / "word").unlink()
    folder.rmdir()


def read_it(stage: HostStage, dataset: Path) -> StartPlan:
    """By a run that has come to its end, and of which nothing is left."""
    plan = stage.plan_for("/bin/cat", f"{TARGET}/word")
    plan = change_plan(plan, mounts=(*plan.container.mounts, Mount(dataset, TARGET)))
    stage.executor.start(plan)
    end_of(stage, plan, 120)
    until(stage, stage.is_empty, what="that nothing of it is left")
    return plan


def shared_things(stage: HostStage) -> set[str]:
    """Kinds with names of what is not the workspace's own."""
    api, space = stage.executor.api, object_names.workspace_namespace(stage.workspace)
    code = api.list_all("ConfigMap", object_names.label_selector(part=object_names.RUN_PART), space).things
    claims = [each["metadata"]["name"] for each in api.list_all("PersistentVolumeClaim", "", space).things]
    volumes = [f"{claim}-{stage.workspace}" for claim in claims]
    there = [name for name in volumes if api.get("PersistentVolume", name)]
    return {*(each["metadata"]["name"] for each in code), *claims, *there}


def test_the_volume_of_a_former_dataset_goes_and_is_made_again(stage: HostStage, dataset: Path) -> None:
    """A day is over for the sweep alone: it is told another time, and asked as the scheduler asks it."""
    own = f"gc-{stage.mark()}-workspace"
    plan = read_it(stage, dataset)
    assert (plan.out / "rank-0.stdout").read_text() == "cumulus\n"
    assert len(shared_things(stage)) == 5, shared_things(stage)
    stage.executor.unused_objects.steady = lambda: time.monotonic() + 2 * UNUSED_SECONDS
    stage.executor.remove_ended_except(())
    left = {own, f"{own}-{stage.workspace}"}
    until(stage, lambda: shared_things(stage) == left, what="that only the workspace's own volume is left")
    assert (dataset / "word").exists(), "of what is deleted nothing is lost"
    again = read_it(stage, dataset)
    assert (again.out / "rank-0.stdout").read_text() == "cumulus\n"
