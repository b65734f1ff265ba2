"""torchrun of four ranks on processors: filled into the form, submitted by its button, watched to its end.

Chromium, an embedded set with four CPU slots, the training environment of this machine with PyTorch in it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from cluster.domain.states import DatasetState, TrainingKind, UserRole, Visibility
from cluster.services import datasets, trainings
from cluster.services.context import Cluster
from cluster.services.nodes import queries
from cluster.settings import Settings
from tests.browser.conftest import PageIn, signed_in
from tests.browser.journey import fill
from tests.builders import a_user, a_workspace, actor_of
from tests.installation import Installation, an_installation
from tests.integration.conftest import a_cluster
from tests.integration.ready_installation import is_environment_ready, wait_until
from worker.embedded.settings_file import read_settings_file, write_settings_file

pytestmark = pytest.mark.long
RANKS = 4
PROGRAM = Path(__file__).parents[1] / "training" / "by_torch.py"
GOOD = 0.95
TRAINS_WITHIN_MS = 300_000
"""Four ranks that import torch and share the processors of a busy machine."""


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    with an_installation() as installation:
        installation.up()
        write_settings_file(installation.places.settings_file, {"GROUNDCREW_CPU_SLOTS": str(RANKS)})
        installation.up()
        yield installation


@pytest.fixture(scope="module")
def cluster(installation: Installation) -> Iterator[Cluster]:
    told = read_settings_file(installation.places.settings_file)
    with a_cluster(Settings.from_environment(told)) as cluster:
        wait_until(lambda: is_environment_ready(cluster), 900, "the training environment")
        wait_until(lambda: queries.count_working_units(cluster) == RANKS, 60, "four CPU slots")
        yield cluster


@pytest.fixture
def base_url(installation: Installation) -> str:
    return f"http://127.0.0.1:{installation.port}"


def test_torchrun_of_four_ranks_is_submitted_by_the_form_and_all_learn_the_same(
    page_in: PageIn, cluster: Cluster, base_url: str
) -> None:
    person = a_user(cluster, "minji", UserRole.ADMINISTRATOR)
    actor, workspace = actor_of(person), a_workspace(cluster, person, units=RANKS).id
    digits = datasets.create_sample(cluster, actor, workspace).id
    training = trainings.create_training(
        cluster,
        actor,
        workspace,
        "torch",
        "",
        TrainingKind.ADVANCED,
        None,
        Visibility.PUBLIC,
        [("main.py", PROGRAM.read_bytes())],
    ).id
    wait_until(
        lambda: datasets.read_dataset(cluster, actor, digits).state is DatasetState.READY, 120, "the digits"
    )
    page = page_in(state=signed_in(cluster, person, base_url))
    since = time.monotonic()
    submit(page, training, digits)
    expect(page.locator("#job-head .pill")).to_have_text("Finished", timeout=TRAINS_WITHIN_MS)
    print(f"torchrun of {RANKS} ranks by the form: {time.monotonic() - since:.0f} s to its end")
    logs = [read_log(page, rank) for rank in range(RANKS)]
    assert [re.findall(r"rank (\d) of 4 saw", text) for text in logs] == [["0"], ["1"], ["2"], ["3"]]
    ends = [re.findall(r"accuracy ([0-9.]+) weights (\w+)", text)[-1] for text in logs]
    assert min(float(accuracy) for accuracy, _ in ends) >= GOOD, ends
    assert len({weights for _, weights in ends}) == 1, "gradients were not exchanged"


def submit(page: Page, training: int, digits: int) -> None:
    """A name that no job may have turns the button off, and the page says which field it is; then it can be pressed."""
    page.goto(f"/trainings/{training}/jobs/new")
    button = page.get_by_role("button", name="Make 1 job")
    values = {"dataset": str(digits), "units": str(RANKS), "script": "main.py", "launcher": "torchrun"}
    fill(page, values | {"name": "four ranks"})
    expect(button).to_be_disabled()
    expect(page.locator(".form-foot .problem")).to_contain_text("Name")
    fill(page, {"name": "four-ranks"})
    expect(button).to_be_enabled()
    button.click()
    expect(page).to_have_url(re.compile(r"/jobs/\d+$"))


def read_log(page: Page, rank: int) -> str:
    """As a person chooses it; the last line is the one by which it is known to be whole."""
    page.get_by_role("link", name="Log", exact=True).click()
    page.locator("select[name='rank']").select_option(str(rank))
    lines = page.locator("[data-lines]")
    expect(lines).to_contain_text(re.compile(rf"rank {rank} of 4 saw[\s\S]*weights \w+"))
    return lines.inner_text()
