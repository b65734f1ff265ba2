"""Name the jobs of a sweep: the sweep's name and the values that distinguish each job."""

from functools import lru_cache

from cluster.domain.built_in_models import VariableValue
from cluster.domain.names import JOB_LETTERS, suggest_name
from cluster.domain.sweeps.plan import SweepPlan

LONGEST = 60


def sweep_job_names(base: str, plan: SweepPlan) -> list[str]:
    """One valid name per job, all different: `lenet-learning_rate=0.01`, shortened if that is too long.

    If even short names are too long or equal, the job's number precedes the values.
    """
    full, short = {name: to_name_part(name) for name in plan.differing}, short_labels(plan.differing)
    for labels in (full, short):
        names = [append_values(base, values_in_name(labels, row)) for row in plan.rows()]
        if len(set(names)) == len(names) and max(map(len, names)) <= LONGEST:
            return names
    return [
        numbered_name(base, number, values_in_name(short, row))
        for number, row in enumerate(plan.rows(), start=1)
    ]


def values_in_name(labels: dict[str, str], row: dict[str, VariableValue]) -> str:
    return "-".join(f"{label}={value_in_name(row[name])}" for name, label in labels.items())


def append_values(base: str, values: str) -> str:
    return f"{base}-{values}" if values else base


def numbered_name(base: str, number: int, values: str) -> str:
    """Joins base, number and values to a name. The number is never cut, so that names differ."""
    head = f"{base[:20].rstrip('-')}-{number}"
    return append_values(head, values)[:LONGEST].rstrip("-")


def to_name_part(text: str) -> str:
    return suggest_name(text, LONGEST, JOB_LETTERS) or "value"


@lru_cache(maxsize=1024, typed=True)
def value_in_name(value: VariableValue) -> str:
    """Keeps the minus of a number and drops the plus of an exponent, which names may not contain."""
    text = str(value).replace("+", "")
    minus = "-" if text.startswith("-") and text[1:2].isdigit() else ""
    return minus + to_name_part(text)


def short_labels(names: tuple[str, ...]) -> dict[str, str]:
    """`learning_rate` becomes lr, `momentum` mom. The whole names are kept if short ones would be equal."""
    short = {name: initials(to_name_part(name)) for name in names}
    return short if len(set(short.values())) == len(short) else {name: to_name_part(name) for name in names}


def initials(name: str) -> str:
    words = [word for word in name.replace("-", "_").split("_") if word]
    return "".join(word[0] for word in words) if len(words) > 1 else name[:3]
