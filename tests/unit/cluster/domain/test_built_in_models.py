"""The variables of built-in models: what a user may type, and what the refusal tells."""

import dataclasses
import math

import pytest

from cluster.domain.built_in_models import (
    BUILT_IN_MODELS,
    LENET,
    MLP,
    BuiltInModel,
    VariableType,
    check_variables,
    parse_variable,
)
from cluster.domain.errors import Refused
from worker.models.hyperparameters import Hyperparameters


def test_nothing_typed_means_the_defaults() -> None:
    assert check_variables(LENET, {}) == {variable.name: variable.default for variable in LENET.variables}


@pytest.mark.parametrize("model", BUILT_IN_MODELS.values(), ids=lambda model: model.name)
def test_each_default_passes_its_own_check(model: BuiltInModel) -> None:
    typed = {variable.name: str(variable.default) for variable in model.variables}
    assert check_variables(model, typed) == check_variables(model, {})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("epochs", "1", 1),
        ("epochs", " 12 ", 12),
        ("epochs", "+3", 3),
        ("epochs", "10000", 10_000),
        ("learning_rate", "1e-3", 0.001),
        ("learning_rate", ".5", 0.5),
        ("learning_rate", "1000", 1000.0),
        ("dropout", "0", 0.0),
        ("dropout", "0.999", 0.999),
        ("optimizer", "sgd", "sgd"),
        ("seed", "4294967295", 4_294_967_295),
    ],
)
def test_good_values_are_typed(name: str, text: str, value: object) -> None:
    parsed = check_variables(LENET, {name: text})[name]
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("epochs", "", "variable.missing"),
        ("epochs", "   ", "variable.missing"),
        ("epochs", "ten", "variable.not_a_number"),
        ("epochs", "1_000", "variable.not_a_number"),
        ("epochs", "\u0663", "variable.not_a_number"),
        ("epochs", "9" * 5000, "variable.not_a_number"),
        ("epochs", "0x10", "variable.not_a_number"),
        ("epochs", "1.5", "variable.not_whole"),
        ("epochs", "1e3", "variable.not_whole"),
        ("epochs", "nan", "variable.not_finite"),
        ("epochs", "0", "variable.too_small"),
        ("epochs", "-1", "variable.too_small"),
        ("epochs", "10001", "variable.too_large"),
        ("learning_rate", "NaN", "variable.not_finite"),
        ("learning_rate", "-Infinity", "variable.not_finite"),
        ("learning_rate", "1e999", "variable.not_finite"),
        ("learning_rate", "0", "variable.too_small"),
        ("learning_rate", "1e-999", "variable.too_small"),
        ("learning_rate", "-0.1", "variable.too_small"),
        ("learning_rate", "1000.1", "variable.too_large"),
        ("learning_rate", "0,1", "variable.not_a_number"),
        ("learning_rate", "0.1; rm -rf /", "variable.not_a_number"),
        ("dropout", "1", "variable.too_large"),
        ("optimizer", "SGD", "variable.not_a_choice"),
        ("optimizer", "rmsprop", "variable.not_a_choice"),
        ("momentum", "1.0", "variable.too_large"),
        ("hidden_units", "64", "variable.unknown"),
    ],
)
def test_a_bad_value_is_refused_with_its_reason(name: str, text: str, code: str) -> None:
    with pytest.raises(Refused) as refusal:
        check_variables(LENET, {name: text})
    assert refusal.value.code == code
    assert refusal.value.field == f"variables.{name}"


def test_a_refusal_says_what_may_be_typed() -> None:
    with pytest.raises(Refused) as refusal:
        check_variables(LENET, {"dropout": "1"})
    data = refusal.value.data
    assert (data["minimum"], data["maximum"]) == (0, 1)
    assert data["maximum_is_excluded"]
    assert not data["minimum_is_excluded"]
    assert data["given"] == "1"


def test_a_refusal_never_repeats_a_whole_book() -> None:
    with pytest.raises(Refused) as refusal:
        parse_variable(LENET.variable("optimizer"), "x" * 100_000)
    assert len(refusal.value.data["given"]) <= 40


@pytest.mark.parametrize("model", BUILT_IN_MODELS.values(), ids=lambda model: model.name)
def test_the_training_loop_finds_all_its_variables(model: BuiltInModel) -> None:
    values = Hyperparameters.of(check_variables(model, {}))
    assert dataclasses.asdict(values).items() <= check_variables(model, {}).items()


def test_only_the_mlp_has_hidden_units() -> None:
    assert {variable.name for variable in (*MLP.variables, *LENET.variables)} - {
        variable.name for variable in LENET.variables
    } == {"hidden_units"}


@pytest.mark.parametrize("model", BUILT_IN_MODELS.values(), ids=lambda model: model.name)
def test_each_description_is_whole(model: BuiltInModel) -> None:
    for variable in model.variables:
        if variable.type is VariableType.CHOICE:
            assert variable.default in variable.choices
        else:
            assert variable.minimum is not None and variable.maximum is not None
            assert math.isfinite(variable.minimum) and math.isfinite(variable.maximum)


def test_a_program_with_a_variable_missing_says_which() -> None:
    values = check_variables(LENET, {})
    del values["learning_rate"]
    with pytest.raises(SystemExit, match="learning_rate"):
        Hyperparameters.of(values)
