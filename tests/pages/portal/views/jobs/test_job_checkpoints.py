"""Checkpoints are downloaded one by one."""

import json
import re

from tests.pages.portal.pages_lab import Lab


def test_checkpoints_are_listed_and_taken_along(lab: Lab) -> None:
    job = lab.a_running_job()
    folder = lab.out(job) / "checkpoints"
    folder.mkdir()
    for epoch, accuracy in ((1, 0.8), (2, 0.97), (3, 0.96)):
        (folder / f"epoch-000{epoch}.weights.h5").write_bytes(b"w" * epoch)
        note = {"epoch": epoch, "scalars": {"accuracy/validation": accuracy}}
        (folder / f"epoch-000{epoch}.json").write_text(json.dumps(note))
    browser = lab.browser(lab.seoyeon)
    html = browser.get(f"/jobs/{job.id}?tab=checkpoints").text
    assert re.search(r"epoch-0002\.weights\.h5</span>\s*<span class=\"tag\">.*best", html)
    answer = browser.get(f"/jobs/{job.id}/checkpoints/epoch-0003.weights.h5")
    assert answer.data == b"www"
    assert answer.content_type == "application/octet-stream"
    assert "attachment" in answer.headers["Content-Disposition"]
    for name in ("epoch-0009.weights.h5", "epoch-0001.json", "..", "%2e%2e%2fmetrics.jsonl", "a%00b"):
        assert browser.get(f"/jobs/{job.id}/checkpoints/{name}").status_code == 404
