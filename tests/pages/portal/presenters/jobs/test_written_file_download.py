"""The name under which a downloaded file is kept."""

from types import SimpleNamespace
from typing import Any

import pytest
from werkzeug.wrappers import Response

from portal.presenters.jobs.written_file_download import attach


@pytest.mark.parametrize(("name", "ending"), [("weights.bin", ""), ("results", ".zip"), ('a"; b.csv', "")])
def test_a_download_is_an_attachment_that_names_its_job_and_attempt(name: str, ending: str) -> None:
    view: Any = SimpleNamespace(job=SimpleNamespace(id=7), number=2)
    header = attach(Response(), view, name, ending).headers["Content-Disposition"]
    kind, _, parameters = header.partition("; ")
    assert kind == "attachment" and f"job-7-attempt-2-{name.split(chr(34))[0]}" in parameters
