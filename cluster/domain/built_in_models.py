"""The built-in models and their typed variables, from which the form, the checks and the documentation are made."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from cluster.domain.errors import Refused
from cluster.domain.refusals import Refusals


class VariableType(StrEnum):
    INTEGER = "integer"
    NUMBER = "number"
    CHOICE = "choice"


VariableValue = int | float | str


@dataclass(frozen=True)
class ModelVariable:
    """One value that a user chooses. Bounds are inclusive unless the flag beside them says otherwise."""

    name: str
    type: VariableType
    default: VariableValue
    minimum: float | None = None
    maximum: float | None = None
    minimum_is_excluded: bool = False
    maximum_is_excluded: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class BuiltInModel:
    """A built-in model. `name` identifies it in the database, in REST and in `groundcrew_models.<name>`."""

    name: str
    title: str
    variables: tuple[ModelVariable, ...]

    def variable(self, name: str) -> ModelVariable:
        return next(variable for variable in self.variables if variable.name == name)


_EPOCHS = ModelVariable("epochs", VariableType.INTEGER, 20, minimum=1, maximum=10_000)
_BATCH_SIZE = ModelVariable("batch_size", VariableType.INTEGER, 32, minimum=1, maximum=65_536)
_LEARNING_RATE = ModelVariable(
    "learning_rate", VariableType.NUMBER, 0.002, minimum=0, maximum=1_000, minimum_is_excluded=True
)
_SCHEDULE = ModelVariable("schedule", VariableType.CHOICE, "cosine", choices=("cosine", "constant"))
_OPTIMIZER = ModelVariable("optimizer", VariableType.CHOICE, "adam", choices=("adam", "sgd"))
_MOMENTUM = ModelVariable(
    "momentum", VariableType.NUMBER, 0.9, minimum=0, maximum=1, maximum_is_excluded=True
)
_DROPOUT = ModelVariable("dropout", VariableType.NUMBER, 0.2, minimum=0, maximum=1, maximum_is_excluded=True)
_HIDDEN_UNITS = ModelVariable("hidden_units", VariableType.INTEGER, 128, minimum=1, maximum=8_192)
# NumPy takes no larger seed.
_SEED = ModelVariable("seed", VariableType.INTEGER, 1, minimum=0, maximum=2**32 - 1)

_TRAINING = (_EPOCHS, _BATCH_SIZE, _LEARNING_RATE, _SCHEDULE, _OPTIMIZER, _MOMENTUM, _DROPOUT)

LENET = BuiltInModel("lenet", "LeNet", (*_TRAINING, _SEED))
MLP = BuiltInModel("mlp", "MLP", (*_TRAINING, _HIDDEN_UNITS, _SEED))
BUILT_IN_MODELS: Mapping[str, BuiltInModel] = {model.name: model for model in (LENET, MLP)}

# Only ASCII is accepted. float() would also accept 1_000, "infinity" and the digits of every script.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE | re.ASCII)
LONGEST_TEXT = 40


def check_variables(model: BuiltInModel, raw: Mapping[str, str]) -> dict[str, VariableValue]:
    """The typed value of each variable, in the model's order. Variables that `raw` lacks get their defaults.

    Raises Refused for the field `variables.<name>` of each wrong value. Its data contain what the user may type
    instead (minimum, maximum, which of them is excluded, choices, default).
    """
    known, refusals = [variable.name for variable in model.variables], Refusals()
    given: dict[str, VariableValue] = {}
    for name, text in raw.items():
        with refusals.collect():
            if name not in known:
                raise Refused(
                    f"variables.{name}", "variable.unknown", name=name, known=known, model=model.name
                )
            given[name] = parse_variable(model.variable(name), text)
    refusals.raise_all()
    return {variable.name: given.get(variable.name, variable.default) for variable in model.variables}


def parse_variable(variable: ModelVariable, text: str) -> VariableValue:
    """Converts the text that a user typed into the variable's value. Raises Refused."""
    text = text.strip()
    if not text:
        raise _refused(variable, "variable.missing", text)
    if variable.type is VariableType.CHOICE:
        if text not in variable.choices:
            raise _refused(variable, "variable.not_a_choice", text)
        return text
    number = _parse_number(variable, text)
    _check_bounds(variable, text, number)
    return number


def _parse_number(variable: ModelVariable, text: str) -> int | float:
    if _NOT_FINITE.fullmatch(text):
        raise _refused(variable, "variable.not_finite", text)
    if len(text) > LONGEST_TEXT or not _NUMBER.fullmatch(text):
        raise _refused(variable, "variable.not_a_number", text)
    if variable.type is VariableType.INTEGER:
        if not _WHOLE.fullmatch(text):
            raise _refused(variable, "variable.not_whole", text)
        return int(text)
    number = float(text)
    if not math.isfinite(number):
        raise _refused(variable, "variable.not_finite", text)
    return number


def _check_bounds(variable: ModelVariable, text: str, number: int | float) -> None:
    least, most = variable.minimum, variable.maximum
    if least is not None and (number < least or (variable.minimum_is_excluded and number == least)):
        raise _refused(variable, "variable.too_small", text)
    if most is not None and (number > most or (variable.maximum_is_excluded and number == most)):
        raise _refused(variable, "variable.too_large", text)


def _refused(variable: ModelVariable, code: str, text: str) -> Refused:
    return Refused(
        f"variables.{variable.name}",
        code,
        name=variable.name,
        given=text[:LONGEST_TEXT],
        default=variable.default,
        minimum=variable.minimum,
        maximum=variable.maximum,
        minimum_is_excluded=variable.minimum_is_excluded,
        maximum_is_excluded=variable.maximum_is_excluded,
        choices=list(variable.choices),
    )
