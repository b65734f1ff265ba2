"""The ranks of one attempt are started in several pods."""

import pytest

from cluster.domain.jobs.launch import local_launch_plan, mpi_launch_plan, pod_launch_plan, units_per_pod
from cluster.domain.states import Launcher

PYTHON, RUNTIME = "/opt/groundcrew/training/bin/python", "/groundcrew/runtime"
PROGRAM = (PYTHON, "-u", "train.py", "--text", "a; b")


@pytest.mark.parametrize(
    ("nodes", "pods"),
    [([4], (4,)), ([2, 2], (2, 2)), ([1, 1, 1], (1, 1, 1)), ([2, 1], (1, 1, 1)), ([3, 1], (1, 1, 1, 1))],
)
def test_even_nodes_have_a_pod_each_and_uneven_ones_a_pod_for_each_unit(
    nodes: list[int], pods: tuple[int, ...]
) -> None:
    assert units_per_pod(nodes) == pods


def test_horovod_over_mpi_names_every_variable_and_no_value() -> None:
    """Values go from process to process: no list of processes on a node shows them."""
    plain = local_launch_plan(Launcher.HOROVOD, PYTHON, RUNTIME, 4, PROGRAM)
    plan = mpi_launch_plan(plain, PYTHON, RUNTIME, "/groundcrew/attempt/out/work", ["GROUNDCREW_OUT", "PATH"])
    words = list(plan.command)
    assert words[:7] == [PYTHON, f"{RUNTIME}/shim_gang.py", "mpi", "/etc/mpi/hostfile", "2222", "900", "--"]
    assert words[7:12] == ["mpirun", "--hostfile", "/etc/mpi/hostfile", "-np", "4"]
    given = [words[at + 1] for at, word in enumerate(words) if word == "-x"]
    assert given == ["GROUNDCREW_OUT", "PATH", "NCCL_SOCKET_IFNAME=eth0"]
    assert words[words.index("--wdir") + 1] == "/groundcrew/attempt/out/work"
    assert tuple(words[-9:]) == (PYTHON, f"{RUNTIME}/shim_rank.py", "told", "--", *PROGRAM)
    assert plan.ranks == 4


def test_ranks_of_one_pod_read_nobody_elses_memory() -> None:
    """Open MPI tries to, where it is not told otherwise, and complains of each message in the job's own log."""
    plain = local_launch_plan(Launcher.HOROVOD, PYTHON, RUNTIME, 4, ("lenet",))
    words = mpi_launch_plan(plain, PYTHON, RUNTIME, "/work", []).command
    at = words.index("btl_vader_single_copy_mechanism")
    assert words[at - 1 : at + 2] == ("--mca", "btl_vader_single_copy_mechanism", "none")


@pytest.mark.parametrize(
    ("launcher", "way"),
    [(Launcher.HOROVOD, "gloo"), (Launcher.TORCHRUN, "torchrun"), (Launcher.PLAIN, "plain")],
)
def test_pods_that_know_their_number_are_told_of_all_and_of_the_first(launcher: Launcher, way: str) -> None:
    plain = local_launch_plan(launcher, PYTHON, RUNTIME, 4, PROGRAM)
    plan = pod_launch_plan(plain, launcher, PYTHON, RUNTIME, (2, 2), "gc-7-1-0.gc-7-1")
    start = (PYTHON, f"{RUNTIME}/shim_gang.py", way, "2,2", "gc-7-1-0.gc-7-1", "eth0", "--")
    assert plan.command == (*start, PYTHON, f"{RUNTIME}/shim_rank.py", "told", "--", *PROGRAM)


def test_ranks_on_the_hosts_network_meet_over_its_training_interfaces() -> None:
    plain = local_launch_plan(Launcher.HOROVOD, PYTHON, RUNTIME, 4, PROGRAM)
    words = mpi_launch_plan(plain, PYTHON, RUNTIME, "/work", [], ("ens1", "ens2")).command
    for switch in ("btl_tcp_if_include", "oob_tcp_if_include"):
        assert words[words.index(switch) + 1] == "ens1,ens2"
    assert "NCCL_SOCKET_IFNAME=ens1,ens2" in words and "eth0" not in words
    torchrun = local_launch_plan(Launcher.TORCHRUN, PYTHON, RUNTIME, 4, PROGRAM)
    command = pod_launch_plan(torchrun, Launcher.TORCHRUN, PYTHON, RUNTIME, (2, 2), "gc-7", ("ens1",)).command
    assert command[:7] == (PYTHON, f"{RUNTIME}/shim_gang.py", "torchrun", "2,2", "gc-7", "ens1", "--")
