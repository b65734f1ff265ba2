"""What the jobs of a sweep are called: the sweep's name with the values that tell them apart."""

from cluster.domain.models import Value
from cluster.domain.names import JOB_LETTERS, repair_name
from cluster.domain.sweeps import SweepPlan

LONGEST = 60


def names_of(base: str, plan: SweepPlan) -> list[str]:
    """One valid name per job, all different: `lenet-learning_rate=0.01`, shorter where that is too long.

    Where even short ones are too long or not different, the job's number stands before the values.
    """
    full, short = {name: as_name(name) for name in plan.differing}, shortened(plan.differing)
    for labels in (full, short):
        names = [join(base, said(labels, row)) for row in plan.rows()]
        if len(set(names)) == len(names) and max(map(len, names)) <= LONGEST:
            return names
    return [numbered(base, number, said(short, row)) for number, row in enumerate(plan.rows(), start=1)]


def said(labels: dict[str, str], row: dict[str, Value]) -> str:
    return "-".join(f"{label}={value_in_name(row[name])}" for name, label in labels.items())


def join(base: str, values: str) -> str:
    return f"{base}-{values}" if values else base


def numbered(base: str, number: int, values: str) -> str:
    """The number is never cut, so that names differ."""
    head = f"{base[:20].rstrip('-')}-{number}"
    return join(head, values)[:LONGEST].rstrip("-")


def as_name(text: str) -> str:
    return repair_name(text, LONGEST, JOB_LETTERS) or "value"


def value_in_name(value: Value) -> str:
    """The minus of a number stays; the plus of an exponent goes, for a name has no such character."""
    text = str(value).replace("+", "")
    minus = "-" if text.startswith("-") and text[1:2].isdigit() else ""
    return minus + as_name(text)


def shortened(names: tuple[str, ...]) -> dict[str, str]:
    """`learning_rate` is lr, `momentum` mom; the whole names where short ones would be the same."""
    short = {name: initials(as_name(name)) for name in names}
    return short if len(set(short.values())) == len(short) else {name: as_name(name) for name in names}


def initials(name: str) -> str:
    words = [word for word in name.replace("-", "_").split("_") if word]
    return "".join(word[0] for word in words) if len(words) > 1 else name[:3]
