"""The command lists and fetches what a job wrote."""

import json
from pathlib import Path

from cluster.services.storage import folders
from cluster.store.nodes import Unit
from tests.builders import a_job, holding
from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab


def test_what_a_job_wrote_is_listed_and_fetched_once(lab: Lab, run: Run, tmp_path: Path) -> None:
    job = a_job(lab.cluster, lab.training, lab.member)
    with lab.cluster.store.read() as session:
        units = list(session.query(Unit))
    holding(lab.cluster, job, units[:1])
    out = folders.attempt_folder(lab.cluster.settings, lab.workspace.id, job.id, 1) / "out"
    (out / "results").mkdir(parents=True)
    (out / "results" / "a.csv").write_text("1,2\n")
    (out / "weights.bin").write_bytes(b"\0" * 600_000)
    assert run("job", "files", str(job.id), "-o", "name").stdout.split() == ["results", "weights.bin"]
    assert json.loads(run("job", "files", str(job.id), "results", "-o", "json").stdout)[0]["bytes"] == 4
    into = ("-d", str(tmp_path / "here"))
    assert run("job", "pull", f"job-{job.id}", *into).stdout.startswith("2 files with 586 KiB fetched")
    assert (tmp_path / "here/results/a.csv").read_text() == "1,2\n"
    assert (tmp_path / "here/weights.bin").stat().st_size == 600_000
    (out / "results" / "a.csv").write_text("1,2,3\n")
    assert "1 were here already" in run("job", "pull", str(job.id), *into).stdout
    assert (tmp_path / "here/results/a.csv").read_text() == "1,2,3\n"
    assert not list((tmp_path / "here").rglob("*.part"))
    run("job", "files", str(job.id), "nothing", expected=4)
    run("job", "files", "999", expected=4)
