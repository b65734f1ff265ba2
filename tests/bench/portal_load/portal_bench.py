"""One run of the portal's measures: what is measured, on which databases, and where the results go."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

from tests.bench.bench_run import BESIDE, OURS
from tests.bench.full_size.database_file import FOUR_NODES
from tests.bench.full_size.sizes import FULL, InstallationSize
from tests.bench.portal_load.full_installation import FullInstallation
from tests.bench.results import Ledger

CONTENDERS = {"postgresql": OURS, "sqlite": BESIDE}
SIZES = (FULL, FOUR_NODES)


@dataclass(frozen=True)
class PortalBench:
    ledger: Ledger
    is_quick: bool
    databases: tuple[str, ...]
    tail_seconds: float = 15.0
    """How long logs are followed; the goals count after 600."""

    def few(self, quick: int, full: int) -> int:
        return quick if self.is_quick else full


def name_of_size(size: InstallationSize) -> str:
    return f"{size.nodes} nodes"


@contextmanager
def noted_cpu(
    bench: PortalBench, measure: str, case: str, contender: str, full: FullInstallation
) -> Iterator[None]:
    """Notes what each service used of a core meanwhile, and all processes of the machine of all cores."""
    before = full.cpu_seconds()
    clock = psutil.cpu_times()
    yield
    after, later = full.cpu_seconds(), psutil.cpu_times()
    seconds = sum(later[:4]) - sum(clock[:4])
    wall = seconds / psutil.cpu_count()
    for service in ("portal", "stream", "nginx", "scheduler", "redis"):
        used = 100 * (after[service] - before[service]) / wall
        bench.ledger.value(measure, f"{case}: CPU of {service}", contender, "%", used)
    idle = (later.idle - clock.idle) / seconds
    bench.ledger.value(measure, f"{case}: the whole machine is in use", contender, "%", 100 * (1 - idle))
