"""Several values per parameter: the list of jobs, its names, its limits, and when it stops."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.domain.built_in_models import LENET
from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.names import check_job_name
from cluster.domain.states import JobState
from cluster.domain.sweeps.job_names import sweep_job_names
from cluster.domain.sweeps.plan import (
    MAX_SWEEP_JOBS,
    SweepKind,
    SweepPlan,
    SweepRequest,
    check_commands,
    check_sweep,
    fill_command,
    split_values,
    stop_code_of,
)

JOB = JobRequest("lenet", 1)


def grid(**values: Any) -> SweepPlan:
    return SweepPlan(SweepKind.GRID, {name: tuple(each) for name, each in values.items()})


def pairs(**values: Any) -> SweepPlan:
    return SweepPlan(SweepKind.LIST, {name: tuple(each) for name, each in values.items()})


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.1", ("0.1",)),
        ("0.1, 0.05,0.01", ("0.1", "0.05", "0.01")),
        ("0.1\n0.05\r\n\n0.01\n", ("0.1", "0.05", "0.01")),
        ("0.1, 0.05\n0.01,", ("0.1", "0.05", "0.01")),
        ('"64,32", "128,64"', ("64,32", "128,64")),
        ("1..4", ("1", "2", "3", "4")),
        ("-1..1, 7", ("-1", "0", "1", "7")),
        ("a..b", ("a..b",)),
        ("two words, one", ("two words", "one")),
        ("  ,, ", ()),
    ],
)
def test_values_are_apart_by_commas_or_lines(text: str, values: tuple[str, ...]) -> None:
    assert split_values("lr", text) == values


@pytest.mark.parametrize("text", ['"open', '"a"b', "5..1", "1..10001", "0..999999999"])
def test_a_list_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        split_values("lr", text)
    assert refused.value.field == "values.lr"


def test_a_grid_is_every_value_with_every_other_the_last_one_fastest() -> None:
    plan = grid(lr=(0.1, 0.05), batch=(32, 64))
    assert plan.size == 4
    assert [tuple(row.values()) for row in plan.rows()] == [(0.1, 32), (0.1, 64), (0.05, 32), (0.05, 64)]


def test_a_list_goes_row_by_row_and_a_lone_value_holds_for_all() -> None:
    plan = pairs(lr=(0.1, 0.05), batch=(32, 64), seed=(1,))
    assert list(plan.rows()) == [
        {"lr": 0.1, "batch": 32, "seed": 1},
        {"lr": 0.05, "batch": 64, "seed": 1},
    ]
    assert plan.differing == ("lr", "batch")


def test_a_models_values_have_its_types() -> None:
    request = SweepRequest(JOB, {"learning_rate": "0.1, 1e-2", "epochs": ["1", "2"], "optimizer": "adam"})
    plan = check_sweep(request, LENET)
    assert plan.values == {"learning_rate": (0.1, 0.01), "epochs": (1, 2), "optimizer": ("adam",)}
    assert SweepPlan.from_data(plan.to_data()) == plan


def test_the_values_of_own_code_stay_as_they_were_typed() -> None:
    plan = check_sweep(SweepRequest(JOB, {"lr": "0.10, 1e-2", "layers": '"64,32"'}), None)
    assert plan.values == {"lr": ("0.10", "1e-2"), "layers": ("64,32",)}


REFUSED: list[tuple[dict[str, Any], bool, str, str]] = [
    ({}, True, "values", "sweep.no_values"),
    ({"learning_rate": ""}, True, "values.learning_rate", "sweep.value_missing"),
    ({"learning_rate": "0.1, fast"}, True, "values.learning_rate", "variable.not_a_number"),
    ({"learning_rate": "0.1, -1"}, True, "values.learning_rate", "variable.too_small"),
    ({"learning_rate": "0.1, NaN"}, True, "values.learning_rate", "variable.not_finite"),
    ({"learning_rate": "0.1, 0.10"}, True, "values.learning_rate", "sweep.value_twice"),
    ({"optimizer": "adam, lamb"}, True, "values.optimizer", "variable.not_a_choice"),
    ({"speed": "1, 2"}, True, "values.speed", "variable.unknown"),
    ({"momentum": "0.5, 0.9"}, True, "values.momentum", "sweep.variable_twice"),
    ({"seed": "0..5000", "epochs": "1, 2"}, True, "values", "sweep.too_many_jobs"),
    (
        {"seed": "0..9999", "epochs": "1..9999", "batch_size": "1..9999"},
        True,
        "values",
        "sweep.too_many_jobs",
    ),
    ({"seed": ",".join(map(str, range(10_001)))}, True, "values", "sweep.too_many_jobs"),
    ({f"p{number}": "1" for number in range(21)}, False, "values", "sweep.too_many_parameters"),
    ({"2fast": "1"}, False, "values", "sweep.bad_parameter"),
    ({"a b": "1"}, False, "values", "sweep.bad_parameter"),
    ({"lr": ["0.1", " "]}, False, "values.lr", "sweep.value_missing"),
    ({"lr": ["a\x00b"]}, False, "values.lr", "sweep.bad_value"),
    ({"lr": ["\ud800"]}, False, "values.lr", "sweep.bad_value"),
    ({"lr": ["x" * 1001]}, False, "values.lr", "sweep.value_too_long"),
    ({"lr": "1, 1"}, False, "values.lr", "sweep.value_twice"),
]


@pytest.mark.parametrize(("values", "is_model", "field", "code"), REFUSED)
def test_what_can_never_run_is_refused_with_its_field(
    values: dict[str, Any], is_model: bool, field: str, code: str
) -> None:
    job = JobRequest("lenet", 1, variables={"momentum": "0.5"})
    with pytest.raises(Refused) as refused:
        check_sweep(SweepRequest(job, values), LENET if is_model else None)
    assert (refused.value.field, refused.value.code) == (field, code)


@pytest.mark.parametrize("most", [0, -1, 10_001])
def test_a_limit_of_jobs_at_once_is_one_or_more(most: int) -> None:
    with pytest.raises(Refused) as refused:
        check_sweep(SweepRequest(JOB, {"epochs": "1, 2"}, most_at_once=most), LENET)
    assert refused.value.field == "most_at_once"


def test_lists_have_one_length_and_no_row_twice() -> None:
    for values, code in (
        ({"a": "1,2,3", "b": "1,2"}, "sweep.lists_differ"),
        ({"a": "1,1,2", "b": "3,3,4"}, "sweep.row_twice"),
    ):
        with pytest.raises(Refused) as refused:
            check_sweep(SweepRequest(JOB, values, SweepKind.LIST), None)
        assert refused.value.code == code
    repeated = SweepRequest(JOB, {"a": "1,1", "b": "3,4"}, SweepKind.LIST)
    assert check_sweep(repeated, None).size == 2


@pytest.mark.parametrize(
    ("command", "row", "expected"),
    [
        (["t.py", "--lr", "{lr}"], {"lr": "0.1"}, ["t.py", "--lr", "0.1"]),
        (["t.py", "--lr={lr}", "{lr}/{n}"], {"lr": "0.1", "n": "2"}, ["t.py", "--lr=0.1", "0.1/2"]),
        (["t.py"], {"lr": "0.1", "n": "2"}, ["t.py", "--lr", "0.1", "--n", "2"]),
        (["t.py", "{n}"], {"lr": "0.1", "n": "2"}, ["t.py", "2", "--lr", "0.1"]),
        (["t.py", "{other}", "{}", "{1}", '{"a": 1}'], {}, ["t.py", "{other}", "{}", "{1}", '{"a": 1}']),
        (["t.py", "{a}"], {"a": "{b}", "b": "x y"}, ["t.py", "{b}", "--b", "x y"]),
    ],
)
def test_a_placeholder_is_filled_and_what_has_none_is_appended(
    command: list[str], row: dict[str, Any], expected: list[str]
) -> None:
    assert fill_command(command, row) == expected


def test_commands_that_are_too_long_together_are_refused() -> None:
    plan = check_sweep(SweepRequest(JOB, {"n": "1..9999"}), None)
    check_commands(["t.py", "x" * 1000], plan)
    with pytest.raises(Refused) as refused:
        check_commands(["t.py", "x" * 2000], plan)
    assert refused.value.code == "sweep.too_large"
    with pytest.raises(Refused) as refused:
        check_commands([], plan)
    assert refused.value.field == "command"


@pytest.mark.parametrize(
    ("plan", "names"),
    [
        (grid(learning_rate=(0.1, 0.05)), ["lenet-learning_rate=0.1", "lenet-learning_rate=0.05"]),
        (grid(n=(-1, 1), m=(3,)), ["lenet-n=-1", "lenet-n=1"]),
        (grid(n=(1e16, 1e-16)), ["lenet-n=1e16", "lenet-n=1e-16"]),
        (grid(n=("ResNet", "VGG 16")), ["lenet-n=resnet", "lenet-n=vgg-16"]),
        (grid(n=("A", "a")), ["lenet-1-n=a", "lenet-2-n=a"]),
        (grid(n=("/data/a", "/data/b")), ["lenet-n=data-a", "lenet-n=data-b"]),
        (grid(n=("강아지", "x")), ["lenet-n=gangaji", "lenet-n=x"]),
        (grid(n=(1,)), ["lenet"]),
    ],
)
def test_values_stand_in_the_names(plan: SweepPlan, names: list[str]) -> None:
    assert sweep_job_names("lenet", plan) == names


texts = st.text(min_size=1, max_size=80).filter(str.strip)
plans = st.one_of(
    st.dictionaries(
        st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,39}", fullmatch=True),
        st.lists(
            st.one_of(texts, st.floats(allow_nan=False), st.integers()), min_size=1, max_size=4, unique=True
        ),
        min_size=1,
        max_size=4,
    ).map(lambda values: grid(**values)),
    st.lists(st.tuples(texts, texts), min_size=1, max_size=9, unique=True).map(
        lambda rows: pairs(a=[row[0] for row in rows], b=[row[1] for row in rows])
    ),
)
bases = st.from_regex(r"[a-z0-9]([a-z0-9._=]|-[a-z0-9]){0,20}", fullmatch=True)


@given(bases, plans)
def test_names_are_valid_and_all_different(base: str, plan: SweepPlan) -> None:
    names = sweep_job_names(base[:60].rstrip("-"), plan)
    assert len(set(names)) == len(names) == plan.size
    for name in names:
        check_job_name(name)


@given(plans)
def test_rows_are_as_many_as_the_plan_says_and_all_different(plan: SweepPlan) -> None:
    rows = [tuple(row.items()) for row in plan.rows()]
    assert len(set(rows)) == len(rows) == plan.size
    assert all(list(dict(row)) == list(plan.values) for row in rows)


def test_the_largest_sweep_is_a_matter_of_a_second() -> None:
    plan = check_sweep(SweepRequest(JOB, {"seed": "0..99", "batch_size": "1..100"}), LENET)
    assert plan.size == MAX_SWEEP_JOBS
    assert len(set(sweep_job_names("lenet", plan))) == MAX_SWEEP_JOBS


@pytest.mark.parametrize(
    ("state", "code", "data", "trouble"),
    [
        (JobState.FINISHED, "exit.finished", {}, None),
        (JobState.FINISHED, "exit.finished", {"not_finite": "loss/train"}, "sweep.nan"),
        (JobState.FAILED, "exit.error", {}, "sweep.crash"),
        (JobState.FAILED, "exit.lost", {}, "sweep.crash"),
        (JobState.FAILED, "exit.error", {"not_finite": "loss/train"}, "sweep.nan"),
        (JobState.FAILED, "exit.timed_out", {}, None),
        (JobState.STOPPED, "exit.stopped", {}, None),
    ],
)
def test_a_crash_or_a_lost_loss_is_trouble(
    state: JobState, code: str, data: dict[str, Any], trouble: str | None
) -> None:
    assert stop_code_of(state, code, data) == trouble
