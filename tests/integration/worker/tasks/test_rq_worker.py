"""Operations through real Redis and RQ: done once, refused when forged, resumed when killed."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis
from PIL import Image
from rq import Queue, Worker
from rq.job import Callback
from rq.serializers import JSONSerializer
from rq.worker import WorkerStatus

from cluster.domain.people.actor import Actor
from cluster.domain.states import DatasetState, OperationState
from cluster.event_bus import RUN_OPERATION
from cluster.services import datasets
from cluster.services.context import Cluster
from cluster.services.operations.stale_operations import requeue_stale_operations
from cluster.services.storage import folders
from cluster.store.datasets import Dataset
from cluster.store.operations import Operation
from cluster.store.workspaces import Workspace
from tests.builders import a_workspace, actor_of, an_administrator
from tests.integration.worker.executors.conftest import IS_ROOT, until
from tests.integration.worker.scheduling.conftest import variables_for
from tests.machine.unix_id_ranges import TEST_IDS
from worker.bootstrap.paths import CLONE
from worker.tasks.queue_entries import QUARANTINE

FILES = 3000


def a_picture(shade: int) -> bytes:
    content = io.BytesIO()
    Image.new("L", (8, 8), shade).save(content, "PNG")
    return content.getvalue()


def digits_zip() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for label in "012":
            for number in range(4):
                archive.writestr(f"digits/{label}/{number}.png", a_picture(int(label)))
        archive.writestr("digits/README.txt", "about")
    return content.getvalue()


def many_files() -> bytes:
    """So that there is a middle to be killed in."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for number in range(FILES):
            archive.writestr(f"part/{number}.txt", str(number))
    return content.getvalue()


class Shop:
    """A workspace, an administrator and task workers as processes."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.actor: Actor = actor_of(an_administrator(cluster))
        self.workspace: Workspace = a_workspace(cluster)
        self.workers: list[subprocess.Popen[bytes]] = []
        self.uploads = 0

    def start(self, *queues: str, **variables: str) -> "subprocess.Popen[bytes]":
        """The queue `general` unless others are named."""
        settings = self.cluster.settings
        log = (settings.state_dir / "tasks.log").open("ab")
        worker = subprocess.Popen(
            [sys.executable, "-m", "worker", "tasks", *(queues or ("general",))],
            cwd=CLONE,
            env=variables_for(settings) | variables,
            stdout=log,
            stderr=log,
        )
        log.close()
        self.workers.append(worker)
        return worker

    def upload(self, content: bytes, name: str = "digits.zip") -> Dataset:
        received = folders.incoming_folder(self.cluster.settings) / f"upload-{time.monotonic_ns()}"
        received.write_bytes(content)
        self.uploads += 1
        return datasets.create_upload(
            self.cluster, self.actor, self.workspace.id, f"set-{self.uploads}", name, received
        )

    def upload_and_find_horse(self) -> tuple[Dataset, psutil.Process, psutil.Process]:
        """An import that has begun, the work horse that does it, and the horse's task worker."""
        dataset = self.upload(many_files())
        holder = until(lambda: self.operation(dataset).holder)
        horse = psutil.Process(int(holder.rpartition(":")[2]))
        return dataset, horse, psutil.Process(horse.ppid())

    def read(self, dataset: Dataset) -> Dataset:
        return datasets.read_dataset(self.cluster, self.actor, dataset.id)

    def operation(self, dataset: Dataset) -> Operation:
        with self.cluster.store.read() as session:
            operation = session.get(Operation, dataset.operation_id)
        assert operation is not None
        return operation

    def wait(self, dataset: Dataset, state: DatasetState, seconds: float = 60) -> Dataset:
        def reached() -> Any:
            requeue_stale_operations(self.cluster)
            return self.read(dataset).state is state

        until(reached, seconds, f"dataset {state}")
        return self.read(dataset)


@pytest.fixture
def shop(cluster: Cluster) -> Iterator[Shop]:
    shop = Shop(cluster)
    yield shop
    for worker in shop.workers:
        worker.send_signal(signal.SIGTERM)
        try:
            worker.wait(30)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


@pytest.fixture
def connection(cluster: Cluster) -> Iterator[redis.Redis]:
    connection = redis.Redis.from_url(cluster.settings.redis_url)
    yield connection
    connection.close()


def test_an_upload_becomes_a_dataset(shop: Shop) -> None:
    shop.start()
    dataset = shop.wait(shop.upload(digits_zip()), DatasetState.READY)
    assert dataset.files == 13
    assert dataset.classes == [["0", 4], ["1", 4], ["2", 4]]
    folder = folders.dataset_folder(shop.cluster.settings, dataset)
    assert (folder / "digits/1/3.png").read_bytes() == a_picture(1)
    assert not folders.incoming_archive(shop.cluster.settings, dataset.id).exists()
    assert [path.name for path in folder.parent.iterdir()] == [str(dataset.id)]
    operation = shop.operation(dataset)
    assert (operation.state, operation.progress) == (OperationState.FINISHED, 1.0)
    assert [(step["code"], step["state"]) for step in operation.steps] == [
        ("unpack", "done"),
        ("look_through", "done"),
    ]
    if IS_ROOT:
        facts = (folder / "digits/1/3.png").stat()
        assert (facts.st_uid, facts.st_gid) == (0, TEST_IDS.gid_of(shop.workspace.id))
        assert facts.st_mode & 0o777 == 0o640


def test_a_bad_archive_is_refused_and_leaves_nothing(shop: Shop) -> None:
    shop.start()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("good.txt", "good")
        archive.writestr("../outside.txt", "bad")
    dataset = shop.wait(shop.upload(content.getvalue()), DatasetState.FAILED)
    assert (dataset.error_code, dataset.error_data) == ("archive.outside", {"entry": "../outside.txt"})
    folder = folders.dataset_folder(shop.cluster.settings, dataset)
    assert list(folder.parent.iterdir()) == []
    assert shop.operation(dataset).error_code == "archive.outside"


def test_an_archive_that_fills_memory_is_refused_at_its_first_try(shop: Shop) -> None:
    """It was taken up five times: a task worker that is killed cannot say why."""
    shop.start()
    header = tarfile.TarInfo("long")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 64 * 1024**2
    content = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(header.size), 1)
    dataset = shop.wait(shop.upload(content, "bomb.tar.gz"), DatasetState.FAILED)
    assert (dataset.error_code, dataset.error_data) == (
        "archive.header_too_large",
        {"entry": "long", "most": 64 * 1024},
    )
    assert shop.operation(dataset).claims == 1


def test_a_registered_path_is_looked_through_and_left_alone(shop: Shop, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    for label in "ab":
        (shared / label).mkdir(parents=True)
        (shared / label / "1.png").write_bytes(a_picture(7))
        (shared / label / "no.png").write_bytes(b"no picture")
    (shared / "loop").symlink_to(shared)
    object.__setattr__(shop.cluster.settings, "dataset_roots", (shared,))
    shop.start(GROUNDCREW_DATASET_ROOTS=str(shared))
    dataset = datasets.register_path(shop.cluster, shop.actor, shop.workspace.id, "shared", str(shared))
    ready = shop.wait(dataset, DatasetState.READY)
    assert (ready.files, ready.classes) == (4, [["a", 2], ["b", 2]])


def test_an_operation_that_was_never_rung_is_found_by_the_sweep(shop: Shop, connection: redis.Redis) -> None:
    dataset = shop.upload(digits_zip())
    connection.flushall()
    shop.start()
    shop.wait(dataset, DatasetState.READY)


def test_an_entry_rung_three_times_is_worked_on_once(shop: Shop) -> None:
    dataset = shop.upload(digits_zip())
    for _ in range(2):
        shop.cluster.events.enqueue("general", dataset.operation_id or 0)
    shop.start()
    shop.wait(dataset, DatasetState.READY)
    # What was rung later is done: the copies have been taken up before it.
    shop.wait(shop.upload(digits_zip()), DatasetState.READY)
    assert shop.operation(dataset).fence == 1


@pytest.mark.parametrize(
    "point", ["operations.lifecycle.claim_operation committed", "datasets.finish_import committed"]
)
def test_a_killed_operation_is_taken_up_again_within_fifteen_seconds(shop: Shop, point: str) -> None:
    """The work horse kills itself with its worker's whole group; the next worker finds the row."""
    first = shop.start(GC_CRASH=f"{point}:1")
    dataset = shop.upload(digits_zip())
    if point.startswith("operations"):
        until(lambda: shop.operation(dataset).state is OperationState.RUNNING)
    else:
        shop.wait(dataset, DatasetState.READY)
    first.kill()
    first.wait()
    shop.start()
    ready = shop.wait(dataset, DatasetState.READY, 15)
    assert ready.files == 13


def test_a_killed_worker_or_parent_leaves_no_horse_and_loses_no_operation(shop: Shop) -> None:
    parent = shop.start("general", "images")
    first, horse, worker = shop.upload_and_find_horse()
    os.kill(worker.pid, signal.SIGKILL)
    psutil.wait_procs([horse], 10)
    assert not horse.is_running()
    # Its parent has another by now.
    second, horse, worker = shop.upload_and_find_horse()
    assert worker.ppid() == parent.pid
    parent.kill()
    psutil.wait_procs([worker, horse], 10)
    assert not worker.is_running() and not horse.is_running()
    shop.start("general", "images")
    for dataset in (first, second):
        assert shop.wait(dataset, DatasetState.READY).files == FILES
        assert shop.operation(dataset).fence == 2


def enqueue(function: str, *arguments: Any, **options: Any) -> Callable[[Queue], None]:
    return lambda queue: queue.enqueue(function, *arguments, **options) and None


def test_what_is_not_one_number_for_the_one_function_goes_into_quarantine(
    shop: Shop, connection: redis.Redis, tmp_path: Path
) -> None:
    trace = tmp_path / "was-here"
    queue = Queue("general", connection=connection, serializer=JSONSerializer)
    options: dict[str, Any] = {"job_timeout": -1, "result_ttl": 0}
    forged = [
        enqueue("os.system", f"touch {trace}", **options),
        enqueue("subprocess.check_call", ["touch", str(trace)], **options),
        enqueue(RUN_OPERATION, "1", **options),
        enqueue(RUN_OPERATION, 1, 2, **options),
        enqueue(RUN_OPERATION, True, **options),
        enqueue(RUN_OPERATION, 1, on_success=Callback("os.system"), **options),
        enqueue(RUN_OPERATION, 1, on_failure=Callback("os.system"), **options),
        enqueue(RUN_OPERATION, 1, on_stopped=Callback("os.system"), **options),
    ]
    for each in forged:
        each(queue)
    job = queue.enqueue(RUN_OPERATION, 1, **options)
    connection.hset(job.key, "data", b"\x80\x04\x95not json")
    job = queue.enqueue(RUN_OPERATION, 1, **options)
    connection.hset(job.key, "timeout", b"never")
    dataset = shop.upload(digits_zip())
    shop.start()
    shop.wait(dataset, DatasetState.READY)
    entries: Any = connection.lrange(QUARANTINE, 0, -1)
    problems = sorted(json.loads(entry)["problem"] for entry in entries)
    assert problems == sorted(
        ["another function"] * 2
        + ["other arguments"] * 3
        + ["success_callback_name", "failure_callback_name", "stopped_callback_name"]
        + ["unreadable: DeserializationError", "unreadable: AssertionError"]
    )
    assert not trace.exists()
    log = (shop.cluster.settings.state_dir / "tasks.log").read_text()
    assert log.count("was refused") == len(problems)


def idle_workers(connection: redis.Redis) -> list[Worker]:
    return [worker for worker in Worker.all(connection=connection) if worker.get_state() == WorkerStatus.IDLE]


def test_a_worker_stops_at_once(shop: Shop, connection: redis.Redis) -> None:
    worker = shop.start()
    until(lambda: idle_workers(connection))  # registered comes before its signal handlers, idle after them
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0


def test_a_deleted_dataset_s_files_go(shop: Shop) -> None:
    shop.start()
    dataset = shop.wait(shop.upload(digits_zip()), DatasetState.READY)
    folder = folders.dataset_folder(shop.cluster.settings, dataset)
    datasets.delete_dataset(shop.cluster, shop.actor, dataset.id)
    until(lambda: not folder.exists() and not any(folder.parent.iterdir()))
