"""The parts of the test suite, in the order in which they run: where their tests lie and how they are dealt out."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """One call of pytest, or the checks, which run beside the first call."""

    name: str
    folders: tuple[str, ...] = ()
    """Below tests/. The checks have none."""
    without: tuple[str, ...] = ()
    deal: str | None = None
    """How xdist deals the tests out to both cores; files with an installation of their own stay whole."""
    processes: int = 2
    """More than two cores have if tests wait for other processes or for the database."""
    is_measured: bool = False
    """Whether its lines of cluster/ count for coverage, in `make test-all`. Counting doubles what a test costs."""
    trains: bool = False
    """Real trainings and containers: environment and image are prepared before, so that no test waits for them."""


CHECKS_PART = Part("sure")
"""Linters, types and import contracts."""
ALL = (
    CHECKS_PART,
    Part("unit", ("unit",), deal="load", is_measured=True),
    Part("pages", ("pages",), deal="load"),
    Part("store", ("store",), deal="load", processes=3, is_measured=True),
    Part("crash", ("crash",), deal="worksteal"),
    Part("integration", ("integration", "adversaries"), deal="loadfile", processes=4, trains=True),
    Part("browser", ("browser", "kube_api", "training"), deal="loadfile", processes=3, trains=True),
)

KUBE_API = Part("kube-api", ("kube_api",), deal="loadfile")
"""The browser's journey keeps one process for three minutes; in `all` these cases and the trainings run beside it."""
TRAINING = Part("training", ("training",), trains=True)
NEWCOMER = Part("hosts", ("hosts",), without=("hosts/appliance", "hosts/kube"))
MENDED = ("hosts/appliance/test_repairs.py", "hosts/appliance/test_application_repairs.py")
HOSTS = Part("hosts/appliance", ("hosts/appliance",), without=MENDED, deal="loadfile", trains=True)
"""The hosts are lent the wheels of this machine, which the environment's building leaves behind."""
REPAIRS = Part("repairs", MENDED, trains=True)
SERVERS = Part("servers", ("hosts/appliance",), deal="loadfile", trains=True)
"""Both: what is broken and mended is the host that has installed itself before."""
KUBE = Part("hosts/kube", ("hosts/kube",), trains=True)
"""Three hosts for all of its files; where the binaries of Kubernetes are not built it says so and passes."""
SCALE = Part("kube-scale", ("kube_scale",), trains=True)
"""Thousands of jobs on simulated nodes of Kubernetes."""
HOSTILE = Part("hostile", ("hostile",), trains=True)
"""What others notice of attackers: ten minutes by itself, so that nothing else is measured."""


def find(name: str) -> list[Part]:
    """`all`, one of its parts, or any other folder below tests/."""
    if name == "all":
        return list(ALL)
    known = (*ALL, KUBE_API, TRAINING, NEWCOMER, HOSTS, REPAIRS, SERVERS, KUBE, SCALE, HOSTILE)
    return [next((part for part in known if part.name == name), Part(name, (name,)))]
