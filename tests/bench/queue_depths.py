"""The same measure with more and more jobs that wait: ours in other workspaces, Slurm's for a licence."""

import subprocess
from collections.abc import Callable

from tests.bench.baselines.slurm import Slurm
from tests.bench.bench_run import Ground, Turn
from tests.bench.bulk_rows import clear, fill

OF_SLURM = 10_000
"""Slurm's queue is not filled further: at its own rate that would take minutes."""
AT_ONCE = 8


def at_each_depth(ground: Ground, turns_of: Callable[[Ground, int], dict[str, Turn]]) -> None:
    depth_of_slurm = 0
    for depth in ground.depths:
        for house in ground.houses.values():
            clear(house.cluster)
            fill(house.cluster, house.elsewhere, depth)
        if ground.slurm and depth <= OF_SLURM:
            fill_slurm(ground.slurm, depth - depth_of_slurm)
            depth_of_slurm = depth
        ground.alternate(turns_of(ground, depth))
    if ground.slurm:
        ground.slurm.cancel_waiting()


def fill_slurm(cluster: Slurm, count: int) -> None:
    """Eligible jobs that wait for a licence which another job holds, and let others pass."""
    command = "sbatch --quiet --licenses=blocked:1 --nice=1000 --output=/dev/null true.sh"
    pool = ["xargs", "-P", str(AT_ONCE), "-I{}", "sh", "-c", f"exec {command}"]
    numbers = "\n".join(map(str, range(count)))
    subprocess.run(
        pool, input=numbers, text=True, cwd=cluster.folder / "out", env=cluster.environment, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
