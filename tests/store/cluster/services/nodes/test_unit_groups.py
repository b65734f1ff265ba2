"""Units of a node are grouped by their holder, and a reader sees the colours of jobs that the reader may see."""

from cluster.domain.states import JobState, UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.services.nodes.queries import UnitGroup
from cluster.services.nodes.unit_groups import read_all_unit_groups, read_job_colours, read_unit_groups
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, holding

OK, SLOT = UnitState.OK, UnitKind.CPU_SLOT


def test_units_are_grouped_by_holder_and_state(cluster: Cluster) -> None:
    first, second, manager = a_node(cluster), a_node(cluster), a_user(cluster)
    workspace = a_workspace(cluster, manager)
    job = a_job(cluster, a_training(cluster, workspace), state=JobState.RUNNING)
    holding(cluster, job, [first.units[1], second.units[0], second.units[1]])
    with cluster.store.read() as session:
        groups = read_unit_groups(session, [first.id, second.id])
        every = read_all_unit_groups(session)
        assert {node: set(found) for node, found in every.items()} == {
            node: set(found) for node, found in groups.items()
        }
        assert read_job_colours(session, actor_of(manager), [job.id]) == {job.id: workspace.colour}
        assert read_job_colours(session, actor_of(a_user(cluster)), [job.id]) == {}
    assert groups[first.id] == [
        UnitGroup(OK, SLOT, "", False, None, 1),
        UnitGroup(OK, SLOT, "", False, job.id, 1),
    ]
    assert groups[second.id] == [UnitGroup(OK, SLOT, "", False, job.id, 2)]
