"""Read accuracy and speed of the first training's job from its attempt's folder."""

import json
import statistics
from dataclasses import dataclass
from pathlib import Path

from worker.inside.shim_files import read_untrusted_file


@dataclass(frozen=True)
class TrainingMeasurements:
    """`epoch` counts finished epochs; `accuracy` is that of the validation, 0 to 1. None: not known yet."""

    epoch: int = 0
    epochs: int | None = None
    accuracy: float | None = None
    images_per_second: float | None = None

    @property
    def share(self) -> float:
        return self.epoch / self.epochs if self.epochs else 0.0


def read_measurements(out: Path) -> TrainingMeasurements:
    """Reads the metrics. An incomplete line at the end is left for the next call."""
    content = read_untrusted_file(str(out), "metrics.jsonl") or b""
    epoch, epochs, accuracy = 0, None, None
    speeds: list[float] = []
    for line in content.split(b"\n")[:-1]:
        point = json.loads(line)
        scalars = point["scalars"]
        epochs = int(scalars.get("epochs", epochs or 0)) or None
        if "accuracy/validation" in scalars:
            epoch, accuracy = int(point["epoch"]), float(scalars["accuracy/validation"])
        if "images_per_second" in scalars:
            speeds.append(float(scalars["images_per_second"]))
    return TrainingMeasurements(epoch, epochs, accuracy, statistics.median(speeds) if speeds else None)


def read_stderr_tail(out: Path, lines: int = 12) -> str:
    """The last lines that the first rank wrote to stderr, for a training that failed."""
    content = read_untrusted_file(str(out), "rank-0.stderr") or b""
    return "\n".join(content.decode(errors="replace").splitlines()[-lines:])
