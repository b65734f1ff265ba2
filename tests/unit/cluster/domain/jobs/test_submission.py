"""The states of a job, and what a request may ask for."""

import pytest

from cluster.domain.errors import Conflict, Refused
from cluster.domain.jobs import lifecycle, submission
from cluster.domain.jobs.lifecycle import JobEventKind
from cluster.domain.jobs.submission import JobRequest, SubmissionWarning
from cluster.domain.states import JobState, Launcher, TrainingKind, UnitKind

TABLE = """
            placed    started  stop_requested finished failed stopped interrupted retried
waiting     starting  -        stopped        -        failed -       -  -
starting    -         running  stopping       finished failed stopped waiting  waiting
running     -         running  stopping       finished failed stopped waiting  waiting
stopping    -         stopping stopping       finished failed stopped stopped  -
finished    -         -        -              -        -      -       -  -
failed      -         -        -              -        -      -       -  -
stopped     -         -        -              -        -      -       -  -
"""
HEAD, *ROWS = [line.split() for line in TABLE.strip().splitlines()]
CELLS = [
    (JobState(row[0]), JobEventKind(event), to)
    for row in ROWS
    for event, to in zip(HEAD, row[1:], strict=True)
]


@pytest.mark.parametrize(("state", "event", "to"), CELLS)
def test_each_event_in_each_state(state: JobState, event: JobEventKind, to: str) -> None:
    if to != "-":
        assert lifecycle.next_state(state, event) == to
        return
    with pytest.raises(Conflict) as conflict:
        lifecycle.next_state(state, event)
    ended = state in ("finished", "failed", "stopped")
    assert conflict.value.code == ("job.ended" if ended else "job.not_now")


def test_the_table_is_whole() -> None:
    assert len(CELLS) == len(JobState) * len(JobEventKind)


def request(**changes: object) -> JobRequest:
    usual: dict[str, object] = {"name": "lenet", "units": 2, "launcher": Launcher.HOROVOD}
    return JobRequest(**(usual | changes))  # type: ignore[arg-type]


def check(asked: JobRequest, training: TrainingKind = TrainingKind.ADVANCED) -> tuple[SubmissionWarning, ...]:
    return submission.check_job_request(asked, training, quota=4, largest_node=3, kind=UnitKind.CPU_SLOT)


SCRIPT = ("train.py",)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"grace_seconds": 0}, "grace_seconds"),
        ({"grace_seconds": 601}, "grace_seconds"),
        ({"retries": -1}, "retries"),
        ({"retries": 11}, "retries"),
    ],
)
def test_grace_and_tries_have_bounds(changes: dict[str, int], field: str) -> None:
    with pytest.raises(Refused) as refused:
        check(request(command=SCRIPT, **changes))
    assert refused.value.field == field
    check(request(command=SCRIPT, grace_seconds=600, retries=10))


@pytest.mark.parametrize(
    ("asked", "field", "code"),
    [
        (request(name="a b"), "name", "name.bad_character"),
        (request(units=0), "units", "job.units_too_few"),
        (request(units=-1), "units", "job.units_too_few"),
        (request(units=5), "units", "job.units_over_quota"),
        (request(units=4), "units", "job.units_over_node"),
        (request(launcher=Launcher.PLAIN), "launcher", "job.plain_is_one_process"),
        (request(time_limit_seconds=59), "time_limit_seconds", "job.time_limit_range"),
        (request(time_limit_seconds=10**9), "time_limit_seconds", "job.time_limit_range"),
        (request(priority=101), "priority", "job.priority_range"),
        (request(priority=-101), "priority", "job.priority_range"),
        (request(), "command", "job.command_missing"),
        (request(command=("  ",)), "command", "job.command_missing"),
        (request(command=("x",) * 1001), "command", "job.too_many_arguments"),
        (request(command=("train.py", "a\0b")), "command", "job.bad_argument"),
        (request(command=("train.py", "\x1b[2J")), "command", "job.bad_argument"),
        (request(command=("train.py", "a\udcff")), "command", "job.argument_not_text"),
        (request(command=("train.py", "x" * 65536)), "command", "job.command_too_long"),
    ],
)
def test_what_can_never_run_is_refused(asked: JobRequest, field: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        check(asked)
    assert (refused.value.field, refused.value.code) == (field, code)


def test_a_built_in_training_takes_no_command() -> None:
    assert check(request(), TrainingKind.BUILT_IN) == ()
    with pytest.raises(Refused, match="job.command_of_built_in"):
        check(request(command=SCRIPT), TrainingKind.BUILT_IN)


def test_limits_and_priorities_at_their_ends_pass() -> None:
    for seconds in (None, 60, 366 * 86400):
        assert check(request(command=SCRIPT, time_limit_seconds=seconds)) == ()
    for priority in (-100, 100):
        assert check(request(command=SCRIPT, priority=priority)) == ()


def test_before_any_node_has_reported_only_the_quota_counts() -> None:
    assert submission.check_units(4, 4, None, UnitKind.GPU) == 4


@pytest.mark.parametrize(
    "argument", ["한글 인자", "--name=a b", "'\"$(x)`;|&", "", " ", "a\tb", "line\nline", "é" * 100]
)
def test_everything_an_argument_can_hold_passes_unchanged(argument: str) -> None:
    assert submission.check_command(("train.py", argument)) == ("train.py", argument)


@pytest.mark.parametrize(
    ("argument", "is_warned"),
    [
        ("./data", True),
        ("../data", True),
        ("data/train.csv", True),
        ("--data=data/train.csv", True),
        ("--data=./x", True),
        (".", True),
        ("/data/train.csv", False),
        ("--data=/data", False),
        ("$GROUNDCREW_DATASET/train", False),
        ("~/x", False),
        ("s3://bucket/key", False),
        ("train.csv", False),
        ("--epochs=3", False),
        ("-x", False),
        ("a / b", False),
        ('{"a": "b/c"}', False),
        ("", False),
    ],
)
def test_relative_paths_are_warned_about(argument: str, is_warned: bool) -> None:
    warnings = check(request(command=("sub/train.py", argument)))
    expected = SubmissionWarning("command", "job.relative_path", {"argument": argument, "position": 1})
    assert warnings == ((expected,) if is_warned else ())


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("train.py --epochs 3", ("train.py", "--epochs", "3")),
        ("train.py 'a b' \"c d\" e\\ f", ("train.py", "a b", "c d", "e f")),
        ("train.py $HOME ; rm -rf *", ("train.py", "$HOME", ";", "rm", "-rf", "*")),
        ("", ()),
    ],
)
def test_a_line_is_split_by_quotes_and_nothing_else(line: str, command: tuple[str, ...]) -> None:
    assert submission.split_command(line) == command


def test_an_open_quote_is_refused() -> None:
    with pytest.raises(Refused, match="job.quote_open"):
        submission.split_command("train.py 'a")


def test_an_estimate_without_a_reason_starts_now() -> None:
    assert submission.SubmissionPreview(1, UnitKind.GPU).starts_now
    assert submission.default_job_name("lenet", 3) == "lenet-3"


@pytest.mark.parametrize(("units", "launcher"), [(1, Launcher.PLAIN), (2, Launcher.HOROVOD)])
def test_several_units_are_launched_by_horovod_where_nobody_chose(units: int, launcher: Launcher) -> None:
    assert submission.default_launcher(units) is launcher
    assert submission.check_launcher(launcher, units, UnitKind.GPU) is launcher
