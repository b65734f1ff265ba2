"""Reports the progress of an operation by its weighted steps, at most once a second."""

import time
from dataclasses import dataclass, field

from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import plan_steps, report_step
from cluster.store.operations import Operation

REPORT_SECONDS = 1.0


@dataclass
class StepProgress:
    """`weights` are the steps in their order, each with its part of the whole time."""

    cluster: Cluster
    operation: Operation
    weights: dict[str, float]
    told_at: float = field(default=float("-inf"), init=False)
    step: str = field(default="", init=False)

    def start(self) -> None:
        """Raises Conflict if another task worker has claimed the operation, as every report does."""
        plan_steps(self.cluster, self.operation.id, self.operation.fence, list(self.weights))

    def report(self, step: str, share: float, detail: str = "") -> None:
        """`share` is that of the step, 0 to 1."""
        now = time.monotonic()
        if step == self.step and share < 1 and now - self.told_at < REPORT_SECONDS:
            return
        self.step, self.told_at = step, now
        report_step(
            self.cluster, self.operation.id, self.operation.fence, step, self.total_share(step, share), detail
        )

    def total_share(self, step: str, share: float) -> float:
        before = 0.0
        for name, weight in self.weights.items():
            if name == step:
                return (before + weight * share) / sum(self.weights.values())
            before += weight
        return 0.0
