"""Runs the clients in a process of their own and reads what they saw."""

import json
import subprocess
import sys
from dataclasses import dataclass

from tests.bench.portal_load.request_plan import PageAnswers, RequestPlan
from tests.installation import ROOT


@dataclass(frozen=True)
class LoadResult:
    """What all clients saw together in `seconds`."""

    seconds: float
    pages: dict[str, PageAnswers]

    @property
    def answered(self) -> int:
        """Answers with a page in them."""
        return sum(page.statuses.get("200", 0) for page in self.pages.values())

    @property
    def rate(self) -> float:
        return self.answered / self.seconds

    @property
    def latencies(self) -> list[float]:
        return [one for page in self.pages.values() for one in page.latencies]

    def count_statuses(self, first_digit: str) -> int:
        return sum(
            count
            for page in self.pages.values()
            for status, count in page.statuses.items()
            if status[0] == first_digit
        )

    @property
    def unanswered(self) -> int:
        """Anything but a page: another status, or a connection that broke."""
        return sum(sum(page.statuses.values()) for page in self.pages.values()) - self.answered


def run_clients(plan: RequestPlan) -> LoadResult:
    command = [sys.executable, "-m", "tests.bench.portal_load.clients"]
    done = subprocess.run(
        command, cwd=ROOT, input=json.dumps(plan.as_json()), capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    return LoadResult(found["seconds"], {name: PageAnswers(**page) for name, page in found["pages"].items()})
