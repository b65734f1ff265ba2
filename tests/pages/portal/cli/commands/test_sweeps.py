"""The command submits, shows and stops a sweep."""

from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab


def test_the_command_submits_shows_and_stops(lab: Lab, run: Run) -> None:
    options = ("-t", "vision/digits-lenet", "-d", "digits", "-v", "epochs=1,2", "-v", "seed=1..3")
    preview = run("sweep", "submit", *options, "--dry-run").output
    assert "digits-lenet-epochs=1-seed=1" in preview and "6" in preview
    made = run("sweep", "submit", *options, "--at-once", "1", "--stop-on-trouble").stdout.strip()
    assert made.startswith("sweep-")
    shown = run("sweep", "show", made, "--sort", "seed").output
    assert "Waiting 6" in shown and "epochs" in shown and "seed" in shown
    assert made in run("sweep", "list").output
    assert "being stopped" in run("sweep", "stop", made).output
    run("sweep", "stop", made, expected=5)
    run("sweep", "show", "sweep-999", expected=4)
    run("sweep", "submit", "-t", "digits-lenet", "-d", "digits", "-v", "epochs=0,1", expected=6)
