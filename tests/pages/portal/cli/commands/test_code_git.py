"""The command sets a git source, asks for a pull, and shows it; a token comes by stdin alone."""

import pytest

from cluster.domain.states import TrainingKind
from tests.builders import a_training
from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab

OWN = ("-t", "vision/own")
URL = "https://git.lab.example/net.git"


@pytest.fixture(autouse=True)
def training(lab: Lab) -> None:
    a_training(lab.cluster, lab.workspace, lab.member, name="own", kind=TrainingKind.ADVANCED, code_version=0)


def test_a_source_is_set_shown_and_fetched(run: Run) -> None:
    assert "no git source" in run("code", "git", "show", *OWN, expected=1).output
    assert URL in run("code", "git", "set", *OWN, URL, "--ref", "main").stdout
    shown = run("code", "git", "show", *OWN).stdout
    assert URL in shown and "main" in shown
    assert "op-" in run("code", "git", "pull", *OWN, "--no-wait").stdout
    assert "already" in run("code", "git", "pull", *OWN, "--no-wait", expected=6).output


def test_a_key_is_made_and_a_token_needs_its_access(run: Run) -> None:
    text = run("code", "git", "set", *OWN, "git@git.lab.example:net.git", "--access", "deploy_key").stdout
    assert "ssh-ed25519" in text
    assert "--access token" in run("code", "git", "set", *OWN, URL, "--token-stdin", expected=2).output
