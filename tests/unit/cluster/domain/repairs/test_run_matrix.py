"""Ansible's events become a line for each task and a cell for each host; the checks give the verdict."""

from typing import Any

import pytest

from cluster.domain.repairs.run_matrix import (
    HostTaskState,
    RepairVerdict,
    TaskMatrix,
    TaskProgress,
    decide_verdict,
)


def an_event(kind: str, task: str, host: str = "lab", line: int = 0, **data: Any) -> dict[str, Any]:
    return {"event": kind, "start_line": line, "event_data": {"task": task, "host": host, **data}}


def matrix_of(events: list[dict[str, Any]], planned: list[str]) -> list[TaskProgress]:
    matrix = TaskMatrix(planned)
    matrix.add_events(events)
    return list(matrix.tasks.values())


def test_a_playbook_that_only_looks_is_itself_a_check() -> None:
    good = [{"is_ok": True}]
    assert decide_verdict(good, False, has_failed_to_check=True) is RepairVerdict.NOT_VERIFIED
    assert decide_verdict(good, False) is RepairVerdict.VERIFIED


def test_events_become_one_line_per_task_and_one_cell_per_host() -> None:
    events = [
        {"event": "playbook_on_start", "event_data": {}},
        an_event("runner_on_start", "Stop it"),
        an_event("runner_on_ok", "Stop it", line=4, res={"changed": True}, duration=1.234),
        an_event("runner_on_start", "Start it"),
        an_event("runner_on_failed", "Start it", line=7, res={"stderr": "no room"}, duration=0.5),
    ]
    matrix = TaskMatrix(["Stop it", "Start it", "Look"])
    matrix.add_events(events)
    stop, start, rest = matrix.tasks.values()
    assert (stop.hosts, stop.lines, stop.seconds) == ({"lab": HostTaskState.CHANGED}, {"lab": 5}, 1.23)
    assert (start.hosts, start.output) == ({"lab": HostTaskState.FAILED}, {"lab": "no room"})
    assert rest.hosts == {}
    assert matrix.share_done() == pytest.approx(2 / 3)


def test_events_may_come_in_parts_and_what_was_shown_before_stays_as_it_was() -> None:
    matrix = TaskMatrix(["Stop it"])
    shown = []
    for event in (None, an_event("runner_on_start", "Stop it"), an_event("runner_on_ok", "Stop it", line=4)):
        matrix.add_events([event] if event else [])
        shown.append((matrix.to_data()[0], matrix.share_done()))
    assert [(data["hosts"], data["lines"], share) for data, share in shown] == [
        ({}, {}, 0.0),
        ({"lab": "running"}, {}, 0.0),
        ({"lab": "ok"}, {"lab": 5}, 1.0),
    ]


def test_what_a_host_said_is_kept_without_signs_that_only_a_terminal_knows() -> None:
    event = an_event("runner_on_failed", "Look", res={"stderr": "\x1b[31mno\0 room\udc80\n\t가"})
    (task,) = matrix_of([event], ["Look"])
    assert task.output == {"lab": "\ufffd[31mno\ufffd room\ufffd\n\t가"}


def test_of_a_task_that_did_several_things_each_that_went_wrong_is_told() -> None:
    results = [
        {"item": "nginx.service", "changed": True},
        {
            "item": "portal.socket",
            "unreachable": True,
            "msg": "Timeout (42s) waiting for privilege escalation prompt",
        },
        {"item": "stream.socket", "failed": True, "msg": "is masked"},
    ]
    res = {"msg": "All items completed", "results": results}
    (task,) = matrix_of([an_event("runner_on_unreachable", "Open", res=res)], ["Open"])
    assert task.output["lab"].splitlines() == [
        "portal.socket: Timeout (42s) waiting for privilege escalation prompt",
        "stream.socket: is masked",
    ]


def test_a_failure_that_the_playbook_expects_is_none() -> None:
    (task,) = matrix_of([an_event("runner_on_failed", "Look", ignore_errors=True)], ["Look"])
    assert task.hosts == {"lab": HostTaskState.OK}


@pytest.mark.parametrize(
    ("answers", "was_cancelled", "verdict"),
    [
        ([True, True], False, RepairVerdict.VERIFIED),
        ([True, False], False, RepairVerdict.NOT_VERIFIED),
        ([False], True, RepairVerdict.CANCELLED),
        ([True], True, RepairVerdict.VERIFIED),
        ([], False, RepairVerdict.NOT_VERIFIED),
    ],
)
def test_the_checks_decide(answers: list[bool], was_cancelled: bool, verdict: RepairVerdict) -> None:
    assert decide_verdict([{"is_ok": answer} for answer in answers], was_cancelled) is verdict
