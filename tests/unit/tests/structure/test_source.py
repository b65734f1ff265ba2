"""The source of a made-up tree lists its modules and their imports."""

from pathlib import Path

import pytest

from tests.structure.source import Source

FILES = {
    "cluster/__init__.py": "",
    "cluster/jobs/__init__.py": "def run(): ...\n",
    "cluster/jobs/queue.py": "class Queue: ...\ndef read():\n    import os\n",
    "cluster/store/migrations/first.py": "",
    "worker/inside/shim.py": "import plan\n",
    "worker/inside/plan.py": "",
    "portal/page.py": "import plan\n",
    "elsewhere/other.py": "",
}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return Source(tmp_path)


def imports(source: Source, name: str, text: str) -> list[tuple[str, str | None]]:
    module = source.by_name[name]
    changed = type(module)(module.path, text)
    return [(target.name, taken) for target, taken in source.imported(changed)]


def test_migrations_and_other_folders_are_no_modules_of_the_product(source: Source) -> None:
    assert sorted(source.by_name) == [
        "cluster",
        "cluster.jobs",
        "cluster.jobs.queue",
        "portal.page",
        "worker.inside.plan",
        "worker.inside.shim",
    ]


def test_a_module_knows_its_place_and_what_it_defines(source: Source) -> None:
    module = source.by_name["cluster.jobs.queue"]
    assert (module.stem, module.folder, module.lines) == ("queue", "cluster/jobs", 3)
    assert [node.name for node in module.definitions] == ["Queue", "read"]
    assert len(module.import_statements) == 1


@pytest.mark.parametrize(
    ("text", "imported"),
    [
        ("from cluster.jobs import queue", [("cluster.jobs.queue", None)]),
        ("from cluster.jobs.queue import Queue as Line", [("cluster.jobs.queue", "Queue")]),
        ("from cluster.jobs import run", [("cluster.jobs", "run")]),
        ("import cluster.jobs.queue", [("cluster.jobs.queue", None)]),
        ("import os, plan", []),
    ],
)
def test_what_is_imported_is_a_module_or_a_name_of_one(
    source: Source, text: str, imported: list[tuple[str, str | None]]
) -> None:
    assert imports(source, "portal.page", text) == imported


def test_relative_imports_are_resolved(source: Source) -> None:
    assert imports(source, "cluster.jobs.queue", "from . import run") == [("cluster.jobs", "run")]
    assert imports(source, "cluster.jobs", "from .queue import Queue") == [("cluster.jobs.queue", "Queue")]


def test_modules_inside_jobs_import_each_other_by_their_bare_names(source: Source) -> None:
    assert imports(source, "worker.inside.shim", "import plan") == [("worker.inside.plan", None)]
