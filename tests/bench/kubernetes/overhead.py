"""Measures our overhead: submit -> running and starts/s through us, and by kubectl alone with the same Kueue, in
turn.

kubectl makes a run that is as bare as it can be, and one with the pods of ours: what our services cost is the distance
to the latter, what a training's pods cost that between both.

python -m tests.bench.kubernetes.overhead [--shape job|gang] [--turns 5] [--singles 5] [--burst 60]

A job is a Job of one unit; a gang is an MPIJob over two nodes, and runs when its launcher does. Ours and kubectl's
lanes have a queue of their own made of the same objects, and the same simulated nodes. A turn of a lane is some runs
one after another, then many at once, of which none ends before all have begun: what an end costs is another question,
and the simulation has to play ours. Measured from before the request, or before kubectl is called, until the pod runs
as the API server tells a watch.
"""

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.bench.bench_installation import wait_until
from tests.bench.kubernetes.simulated_cluster import City, a_city
from tests.bench.kubernetes.submissions import (
    SHAPES,
    Shape,
    Submit,
    by_kubectl,
    by_us,
    copy_claims,
    plain,
    same_as,
)
from tests.bench.machine import busy_share
from tests.kubernetes.api_server import ADMINISTRATOR
from tests.kubernetes.events import Gone, watch
from tests.kwok.program import compile_kwok
from worker.kubernetes import object_names
from worker.kubernetes.api_client import ApiUnreachable, KubernetesApi, KubernetesObject
from worker.kubernetes.namespaces.sync import NamespaceSync

JOB_NAME = "batch.kubernetes.io/job-name"
PATIENCE = 180.0
ALONE, TOGETHER = 1.0, 15.0
"""Seconds that a run lasts."""


@dataclass
class Eyes:
    """When the pod of each Job was first seen running; steady seconds, by the Job's name."""

    api: KubernetesApi
    running: dict[str, float] = field(default_factory=dict)
    is_open: threading.Event = field(default_factory=threading.Event)
    """From then on nothing is missed."""
    is_over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        while not self.is_over.is_set():
            try:
                since = self.api.list_all("Pod").version
                self.is_open.set()
                for _, pod in watch(self.api, "Pod", since, 600):
                    if self.is_over.is_set():
                        return
                    name = (pod["metadata"].get("labels") or {}).get(JOB_NAME)
                    if name and pod["status"].get("phase") == "Running":
                        self.running.setdefault(name, time.monotonic())
            except (Gone, ApiUnreachable):
                continue

    def wait(self, wanted: Sequence[str]) -> float:
        """The moment at which the last of these began to run."""
        wait_until(lambda: all(name in self.running for name in wanted), PATIENCE, "the pods run", 0.01)
        return max(self.running[name] for name in wanted)


@contextmanager
def eyes_on(city: City) -> Iterator[Eyes]:
    eyes = Eyes(KubernetesApi(city.server.kubeconfig(ADMINISTRATOR)))
    thread = threading.Thread(target=eyes.look, daemon=True)  # Its watch ends when the API server does.
    thread.start()
    assert eyes.is_open.wait(PATIENCE), "the API server lists its pods"
    try:
        yield eyes
    finally:
        eyes.is_over.set()


@dataclass
class Lane:
    submit: Submit
    singles: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)

    def take_turn(self, eyes: Eyes, singles: int, burst: int, is_quiet: Callable[[], None]) -> None:
        for _ in range(singles):
            begun = time.monotonic()
            self.singles.append(eyes.wait(self.submit(1, ALONE)) - begun)
            is_quiet()
        begun = time.monotonic()
        self.rates.append(burst / (eyes.wait(self.submit(burst, TOGETHER)) - begun))
        is_quiet()


def wait_until_quiet(city: City, shape: Shape) -> None:
    """Nothing of either lane runs or is left, so that nobody pays for the other. MPIJobs never go by themselves."""
    api = city.server.api
    place = object_names.workspace_namespace(shape.tenancy.workspace)

    def is_quiet() -> bool:
        for run in api.list_all("MPIJob", namespace=place).things:
            if (run.get("status") or {}).get("completionTime"):
                api.delete("MPIJob", run["metadata"]["name"], place)
        return not any(api.list_all(kind).things for kind in ("MPIJob", "Job", "Pod", "Workload"))

    wait_until(is_quiet, PATIENCE, "both lanes are quiet", 0.25)


def measure(city: City, shape: Shape, turns: int, singles: int, burst: int) -> dict[str, Lane]:
    NamespaceSync(city.server.api, "plain").sync([shape.tenancy])
    ours = by_us(city, shape)
    with eyes_on(city) as eyes:
        made = take_first(city, shape, eyes, ours)
        copy_claims(city, shape)
        lanes = {
            "Groundcrew": Lane(ours),
            "kubectl, bare": Lane(by_kubectl(city, shape, "plain", plain(shape))),
            "kubectl, the same": Lane(by_kubectl(city, shape, "same", same_as(made, shape))),
        }
        for lane in lanes.values():
            eyes.wait(lane.submit(1, ALONE))  # What is made once per workspace is there from then on.
        wait_until_quiet(city, shape)
        for turn in range(turns):
            for name, lane in lanes.items():
                lane.take_turn(eyes, singles, burst, lambda: wait_until_quiet(city, shape))
                print(f"turn {turn} {name}: {lane.singles[-singles:]}, {lane.rates[-1]:.1f}/s", flush=True)
    return lanes


def take_first(city: City, shape: Shape, eyes: Eyes, ours: Submit) -> KubernetesObject:
    """What we make of a run."""
    (name,) = ours(1, ALONE)
    eyes.wait([name])
    made = city.server.api.get(
        shape.kind, shape.name_of(name), object_names.workspace_namespace(city.workspaces[0].id)
    )
    assert made is not None
    return made


def spread(values: Sequence[float], unit: str) -> str:
    return f"{statistics.median(values):.2f}{unit} [{min(values):.2f} … {max(values):.2f}]"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="job")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--singles", type=int, default=5)
    parser.add_argument("--burst", type=int, default=60)
    asked = parser.parse_args()
    compile_kwok()
    busy = busy_share(1.0)
    shape = SHAPES[asked.shape]
    with a_city(shape.nodes, shape.gpus, ALONE, 1) as city:
        lanes = measure(city, shape, asked.turns, asked.singles, asked.burst)
    print(f"{busy:.0%} of the machine in use before")
    for name, lane in lanes.items():
        print(f"{name}: submit -> running {spread(lane.singles, ' s')}, {spread(lane.rates, ' starts/s')}")
    ours, *others = lanes.items()
    for name, other in others:
        print(
            f"{ours[0]} : {name}: submit -> running {ratio(ours[1].singles, other.singles):.2f}, "
            f"seconds per start {ratio(other.rates, ours[1].rates):.2f} (goal 1.2 both)"
        )
    return 0


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    return statistics.median(above) / statistics.median(below)


if __name__ == "__main__":
    sys.exit(main())
