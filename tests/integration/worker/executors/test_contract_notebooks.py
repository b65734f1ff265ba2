"""A notebook is real JupyterLab as a process and in a container: reached by its socket and its token alone, its files
outlive it, and a stop ends its kernels.
"""

import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from cluster.domain.jobs.attempts import ObservedState
from cluster.domain.notebooks import jupyter_server
from cluster.domain.notebooks.jupyter_server import SOCKET, NotebookPlaces, base_path
from tests.integration.worker.executors.conftest import GID, IS_ROOT, MARK, UID, Bench, living_with, until
from tests.start_plans import change_plan
from worker.adapters.jupyter_status import JupyterServer, SocketConnection
from worker.bootstrap.paths import find_installation_paths
from worker.environments.editor_environment import build_editor
from worker.executors.contract import StartPlan
from worker.tasks.environments import find_uv

pytestmark = pytest.mark.long
TOKEN = "only-for-this-test"


@dataclass
class NotebookBench:
    """The folders of one notebook, and requests to its server."""

    bench: Bench
    editor: Path
    folder: Path
    socket: Path
    job: int = 0

    @property
    def server(self) -> JupyterServer:
        return JupyterServer(base_path(self.job), TOKEN, self.socket / SOCKET)

    def start(self) -> StartPlan:
        """Ready once it returns."""
        mark = uuid.uuid4().hex
        view = self.bench.stage.view()
        first = self.bench.plan("nothing")
        self.job = first.job
        editor = view.map_environment(self.editor) / "bin" / "python"
        places = NotebookPlaces(
            editor_python=str(editor),
            kernel_python=str(editor),
            runtime=str(self.bench.runtime),
            folder=str(view.map_writable(self.folder, "notebook")),
            socket_folder=str(view.map_writable(self.socket, "socket")),
        )
        before = first.program.environment
        own = jupyter_server.notebook_environment(first.job, TOKEN, places, before)
        argv = (*first.program.argv[:-1], *jupyter_server.notebook_program(places))
        plan = change_plan(
            first,
            argv=argv,
            environment={**before, **own, MARK: mark},
            mounts=(*first.container.mounts, *view.mounts),
        )
        self.bench.start(plan)
        until(lambda: self.server.is_ready() or self.has_ended(plan), 120, "JupyterLab")
        assert not self.has_ended(plan), self.bench.log(plan, "stderr").decode()
        return plan

    def has_ended(self, plan: StartPlan) -> bool:
        return self.bench.executor.read_status(plan.folder).observed is ObservedState.ENDED

    def ask(self, method: str, path: str, body: object = None, token: str = TOKEN) -> int:
        connection = SocketConnection(self.socket / SOCKET)
        try:
            connection.connect()
            connection.sock.settimeout(60)
            headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
            connection.request(method, base_path(self.job) + path, json.dumps(body or {}), headers)
            return connection.getresponse().status
        finally:
            connection.close()


@pytest.fixture
def notebook(bench: Bench) -> NotebookBench:
    log = bench.ground / "editor.log"
    cache = find_installation_paths().cache_dir
    editor = build_editor(cache, lambda step, share, detail: None, uv=find_uv(), log=log)
    folder, socket = bench.ground / "copy", bench.ground / "socket"
    for each in (folder, socket):
        each.mkdir(mode=0o700)
        if IS_ROOT:
            os.chown(each, UID, GID)
    return NotebookBench(bench, editor, folder, socket)


def test_it_answers_its_token_keeps_its_files_and_is_stopped_whole(notebook: NotebookBench) -> None:
    plan = notebook.start()
    mark = plan.program.environment[MARK]
    assert notebook.ask("GET", "api/kernels", token="another") in (401, 403)
    assert (
        notebook.ask("PUT", "api/contents/kept.txt", {"type": "file", "format": "text", "content": "x"})
        == 201
    )
    file = notebook.folder / "files" / "kept.txt"
    assert file.read_text() == "x"
    if IS_ROOT:
        assert file.stat().st_uid == UID
    assert notebook.ask("POST", "api/kernels") == 201
    status = until(notebook.server.read_status, 60, "the state of its kernel")
    assert status.used_at is not None
    assert living_with(mark)
    assert TOKEN.encode() not in b"".join(
        path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()
    )
    handle = notebook.bench.executor.read_status(plan.folder).handle
    assert handle is not None
    notebook.bench.executor.stop(handle)
    assert notebook.bench.end_of(plan).stopped
    until(lambda: not living_with(mark), 30, "the end of its kernel")
    notebook.start()
    assert file.read_text() == "x" and notebook.ask("GET", "api/contents/kept.txt") == 200
