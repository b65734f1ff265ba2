"""Two units that are always full: who takes part, and what each leaves behind."""

import shutil
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from tests.bench.baselines.hyperqueue import HyperQueue
from tests.bench.baselines.plain_rq import RqAlone
from tests.bench.baselines.slurm import Slurm
from tests.bench.bench_installation import House
from tests.bench.bench_run import HQ, RQ, SLURM, Ground
from tests.bench.bulk_rows import clear

Figure = TypeVar("Figure")


def all_there(
    ground: Ground,
    ours: Callable[[House], Figure],
    of_slurm: Callable[[Slurm], Figure],
    of_hyperqueue: Callable[[HyperQueue], Figure],
    of_rq: Callable[[RqAlone], Figure],
) -> dict[str, Callable[[], Figure]]:
    """What each contender runs in its turn; our houses begin without a job."""
    for house in ground.houses.values():
        forget(house)
    runs: dict[str, Callable[[], Figure]] = {
        name: partial(ours, house) for name, house in ground.houses.items()
    }
    if ground.slurm:
        runs[SLURM] = partial(of_slurm, ground.slurm)
    if ground.hyperqueue:
        runs[HQ] = partial(of_hyperqueue, ground.hyperqueue)
    if ground.rq:
        runs[RQ] = partial(of_rq, ground.rq)
    return runs


def take_turns(
    ground: Ground, runs: dict[str, Callable[[], Figure]], note: Callable[[str, Figure], None]
) -> None:
    def turn(contender: str) -> None:
        note(contender, runs[contender]())

    ground.alternate({contender: partial(turn, contender) for contender in runs})


def forget(house: House) -> None:
    """Rows and files, so that the next repeat finds what this one found."""
    clear(house.cluster)
    shutil.rmtree(house.storage / "workspaces" / str(house.workspace_id) / "jobs", ignore_errors=True)
