"""(merged) Records at which times the program had finished how many epochs, thinned to a few milestones."""

from typing import Dict, List, Optional

EPOCHS = "epochs"
"""The metric by which a program says how many epochs it will do."""
MOST_MILESTONES = 32


class MilestoneRecorder:
    def __init__(self):
        # type: () -> None
        self.epochs = None  # type: Optional[float]
        self.marks = []  # type: List[List[float]]
        self.newest = None  # type: Optional[List[float]]
        self.every = 1
        self.rows = 0

    def add_row(self, epoch, time, epochs):
        # type: (Optional[float], Optional[float], Optional[float]) -> None
        """Of one row; None for what it does not say. An epoch that was done before tells nothing new."""
        self.epochs = self.epochs if epochs is None else epochs
        if epoch is None or time is None:
            return
        if self.newest and (epoch <= self.newest[0] or time < self.newest[1]):
            return
        self.newest = [epoch, time]
        if self.rows % self.every == 0:
            self.marks.append(self.newest)
        self.rows += 1
        if len(self.marks) > MOST_MILESTONES:
            del self.marks[1::2]
            self.every *= 2

    def to_json(self):
        # type: () -> Optional[Dict[str, object]]
        """{"epochs": all or None, "marks": [[epochs done, Unix time], …]}; None before the first mark."""
        if self.newest is None:
            return None
        last = [] if self.marks[-1] is self.newest else [self.newest]
        return {"epochs": self.epochs, "marks": self.marks + last}
