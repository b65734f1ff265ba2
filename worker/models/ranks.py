"""The ranks of the job as a group: own rank, sums over all ranks, and the share of the machine's cores."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Horovod 0.28 supports Keras 2 only. TensorFlow reads this variable when it is imported.
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Ranks:
    rank: int
    size: int

    @property
    def first(self) -> bool:
        return self.rank == 0

    def own_share(self, items: Sequence[Any]) -> list[Any]:
        """The part of the list for this rank. The list must be the same on all ranks."""
        return list(items[self.rank :: self.size])

    def sum_over_ranks(self, values: Sequence[float], name: str) -> list[float]:
        """Each value summed over all ranks."""
        return [
            float(value) for value in hvd.allreduce(tf.constant(values, tf.float64), name=name, op=hvd.Sum)
        ]

    def min_over_ranks(self, value: int, name: str) -> int:
        return int(tf.reduce_min(hvd.allgather(tf.constant([value], tf.int64), name=name)))

    def print_once(self, sentence: str) -> None:
        """Prints a line on rank 0, without buffering."""
        if self.first:
            print(sentence, flush=True)


def join_ranks() -> Ranks:
    """Waits until all ranks have started, then divides the cores and GPUs of this machine among its ranks."""
    hvd.init()
    cores = len(os.sched_getaffinity(0))
    tf.config.threading.set_intra_op_parallelism_threads(max(1, cores // hvd.local_size()))
    tf.config.threading.set_inter_op_parallelism_threads(1)
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        mine = gpus[hvd.local_rank() % len(gpus)]
        tf.config.set_visible_devices(mine, "GPU")
        tf.config.experimental.set_memory_growth(mine, True)
    return Ranks(hvd.rank(), hvd.size())


def weights_digest(weights: Sequence[np.ndarray]) -> str:
    """Twelve characters that are equal if and only if the weights are."""
    content = hashlib.sha256()
    for weight in weights:
        content.update(np.ascontiguousarray(weight).tobytes())
    return content.hexdigest()[:12]
