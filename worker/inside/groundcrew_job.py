"""The module that training programs import: it logs metrics, and reads variables, dataset and checkpoints.

The module also works outside a job. It uses the standard library only and written for Python 3.6, because a job's
image may be old. Typical use::

    import groundcrew_job
    groundcrew_job.log(step=10, epoch=0.5, loss=0.31, accuracy=0.9)
"""

import errno
import json
import math
import os
import signal
import sys
import time

TYPE_CHECKING = False
"""The value is what `typing` defines. Importing `typing` only for it would slow down small programs."""
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping, Optional, SupportsFloat, SupportsInt

# #: Short keywords and the metric names that stand for them. The job page draws them in one graph.
NAMES = {
    "loss": "loss/train",
    "loss_train": "loss/train",
    "loss_validation": "loss/validation",
    "val_loss": "loss/validation",
    "accuracy": "accuracy/train",
    "accuracy_train": "accuracy/train",
    "accuracy_validation": "accuracy/validation",
    "val_accuracy": "accuracy/validation",
}

# Each launcher sets its own variable with the program's rank. The first one that is set counts.
RANK_VARIABLES = ("HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK")

# The exit code of a program that left because it was asked to, so that it does not count as finished.
LEFT = 128 + signal.SIGTERM

LONGEST_NAME = 64
LONGEST_LINE = 65536
_stop = {"watched": False, "asked": False}


def rank() -> int:
    """This program's number among the job's programs; 0 if there is only one."""
    for variable in RANK_VARIABLES:
        value = os.environ.get(variable, "")
        if value.isdigit():
            return int(value)
    return 0


def log(
    step: "SupportsInt",
    epoch: "Optional[SupportsFloat]" = None,
    scalars: "Optional[Mapping[str, SupportsFloat]]" = None,
    **named: "SupportsFloat",
) -> None:
    """Record numbers at a step for the live graphs of the job page. Only rank 0 writes.

    Names are keywords (``loss=0.3`` means ``loss/train``) or keys of a dictionary (``scalars={"loss/validation":
    0.4}``). Values are anything that ``float`` accepts. A value that is not finite is recorded as null, and its name
    is listed under ``not_finite``. Raises TypeError or ValueError for a wrong number or name. A full disk raises
    nothing.
    """
    numbers: "Dict[str, Optional[float]]" = {}
    not_finite = []
    for name, value in list((scalars or {}).items()) + list(named.items()):
        name = NAMES.get(name, name)
        _check_name(name)
        number = float(value)
        if math.isfinite(number):
            numbers[name] = number
        else:
            numbers[name] = None
            not_finite.append(name)
    entry: "Dict[str, Any]" = {
        "step": int(step),
        "epoch": None if epoch is None else float(epoch),
        "time": time.time(),
        "scalars": numbers,
    }
    if not_finite:
        entry["not_finite"] = sorted(not_finite)
    if rank() != 0:
        return
    if os.environ.get("GROUNDCREW_OUT"):
        _append(os.path.join(out(), "metrics.jsonl"), entry)
    else:
        _print(entry)


def objective(metric: str, lower_is_better: bool = False) -> None:
    """Name the metric that this program is trained for: lists, sweeps and mails then show its best value.

    Without it they show a validation accuracy, else a validation loss, else the first metric that was logged. Only
    rank 0 writes. Raises ValueError for a wrong name.
    """
    metric = NAMES.get(metric, metric)
    _check_name(metric)
    if rank() == 0 and os.environ.get("GROUNDCREW_OUT"):
        named = {"metric": metric, "lower_is_better": bool(lower_is_better)}
        _append(os.path.join(out(), "metrics.jsonl"), {"objective": named})


def variables() -> "Dict[str, Any]":
    """The values of the training's variables, by name; empty outside a job."""
    values: "Dict[str, Any]" = json.loads(os.environ.get("GROUNDCREW_VARIABLES") or "{}")
    return values


def dataset() -> "Optional[str]":
    """The folder with the job's dataset (read only), or None if the job has none."""
    return os.environ.get("GROUNDCREW_DATASET") or None


def out() -> str:
    """The folder for the job's results. Outside a job it is the current folder."""
    return os.environ.get("GROUNDCREW_OUT") or os.getcwd()


def checkpoints() -> str:
    """The folder for checkpoints, which is created if it is missing."""
    folder = os.path.join(out(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    return folder


def asked_to_stop() -> bool:
    """Whether the job has been asked to end. If so, save a checkpoint now and leave, because little time is left.

    Call it first in the main thread: from then on SIGTERM only changes this answer. Call it every few steps; several
    ranks have to agree on the step at which they leave::

        if groundcrew_job.asked_to_stop():
            save_everything()
            sys.exit(groundcrew_job.LEFT)
    """
    if not _stop["watched"]:
        signal.signal(signal.SIGTERM, _note_stop)
        _stop["watched"] = True
    return _stop["asked"]


def _note_stop(number: int, frame: object) -> None:
    _stop["asked"] = True


def save_checkpoint_note(
    epoch: "SupportsInt",
    step: "SupportsInt",
    path: str,
    scalars: "Optional[Mapping[str, SupportsFloat]]" = None,
) -> None:
    """Write the note beside a checkpoint file, so that the job page lists it and a resumed job finds it.

    Call it after the file is complete, because a checkpoint counts as soon as it has a note. The note of
    ``epoch-0001.weights.h5`` is ``epoch-0001.json``.
    """
    note = {
        "epoch": int(epoch),
        "step": int(step),
        "file": os.path.basename(path),
        "scalars": {
            name: float(value) if math.isfinite(float(value)) else None
            for name, value in (scalars or {}).items()
        },
        "time": time.time(),
    }
    _write_atomically(_note_path(path), json.dumps(note, sort_keys=True) + "\n")


def latest_checkpoint(folder: "Optional[str]" = None) -> "Optional[Dict[str, Any]]":
    """The newest complete checkpoint as a dictionary (epoch, step, path, scalars), or None.

    It looks in ``folder``, or in the folder that GROUNDCREW_RESUME names for a resumed job. That may be a folder of
    checkpoints or the ``out`` folder around it. Damaged notes and notes without a file do not count.
    """
    folder = folder or os.environ.get("GROUNDCREW_RESUME")
    if not folder:
        return None
    inner = os.path.join(folder, "checkpoints")
    if os.path.isdir(inner):
        folder = inner
    found = []
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return None
    for name in names:
        checkpoint = _read_note(folder, name) if name.endswith(".json") else None
        if checkpoint is not None:
            found.append(checkpoint)
    return max(found, key=lambda one: (one["epoch"], one["step"])) if found else None


def _read_note(folder: str, name: str) -> "Optional[Dict[str, Any]]":
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            note = json.load(file)
        path = os.path.join(folder, os.path.basename(note["file"]))
        if not os.path.isfile(path):
            return None
        return {
            "epoch": int(note["epoch"]),
            "step": int(note["step"]),
            "path": path,
            "scalars": dict(note.get("scalars") or {}),
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _note_path(path: str) -> str:
    folder, name = os.path.split(path)
    for ending in (".weights.h5", os.path.splitext(name)[1]):
        if ending and name.endswith(ending):
            name = name[: -len(ending)]
            break
    return os.path.join(folder, name + ".json")


def _write_atomically(path: str, text: str) -> None:
    partial = os.path.join(os.path.dirname(path), "." + os.path.basename(path) + ".partial")
    with open(partial, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise ValueError(f"a scalar's name is 1 to {LONGEST_NAME} printable characters, not {name!r}")


def _append(path: str, entry: "Dict[str, Any]") -> None:
    line = (json.dumps(entry, allow_nan=False, sort_keys=True) + "\n").encode("utf-8")
    if len(line) > LONGEST_LINE:
        raise ValueError(f"too many scalars in one call of log: {len(line)} bytes")
    # One write call on a file that is opened for appending: a reader sees whole lines, and a killed program leaves
    # whole ones.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        file = os.open(path, flags, 0o644)
        try:
            os.write(file, line)
        finally:
            os.close(file)
    except OSError as error:
        # Losing a point of a graph is better than ending a training of hours.
        reason = errno.errorcode.get(error.errno or 0, str(error.errno))
        print(f"groundcrew_job: cannot write {path}: {reason}", file=sys.stderr, flush=True)


def _print(entry: "Dict[str, Any]") -> None:
    words = ["step {}".format(entry["step"])]
    if entry["epoch"] is not None:
        words.append("epoch {:g}".format(entry["epoch"]))
    for name, value in sorted(entry["scalars"].items()):
        words.append("{} {}".format(name, "not finite" if value is None else f"{value:.6g}"))
    print("  ".join(words), flush=True)
