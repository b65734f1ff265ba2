"""The meaning of a metric's name: the data that it was measured on, and whether it is an accuracy or a loss."""

import re

SPLITS = {
    "train": "train",
    "training": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "dev": "validation",
    "eval": "validation",
    "test": "test",
}
"""The words that programs write before or after a metric's name, and the part of the data that each means."""
ACCURACY_WORDS = frozenset({"acc", "accuracy", "top1"})
SCORE_WORDS = ACCURACY_WORDS | {
    "score", "f1", "auc", "auroc", "map", "iou", "miou", "dice", "bleu", "rouge", "precision", "recall", "r2",
}  # fmt: skip
"""Metrics that are best at their highest."""
LOSS_WORDS = frozenset({"loss", "error", "perplexity", "ppl", "mae", "mse", "rmse", "wer", "cer", "seconds"})
"""Metrics that are best at their lowest."""
INPUTS = frozenset({"learning_rate", "lr", "epochs", "epoch", "step", "steps", "batch_size"})
"""Numbers that programs log beside the measurements for the graphs."""
WORD = re.compile(r"[a-z0-9]+")


def split_metric_name(name: str) -> tuple[str, str]:
    """`loss/train`, `train/loss`, `train_loss`, `loss_train` → ("loss", "train"); ("bleu", "") without a split."""
    for separator in ("/", "_"):
        head, _sep, rest = name.partition(separator)
        if rest and head.lower() in SPLITS:
            return rest, SPLITS[head.lower()]
        rest, _sep, tail = name.rpartition(separator)
        if rest and tail.lower() in SPLITS:
            return rest, SPLITS[tail.lower()]
    return name, ""


def metric_words(name: str) -> frozenset[str]:
    return frozenset(WORD.findall(name.lower()))


def is_accuracy(name: str) -> bool:
    """Whether the metric's values are shares: 0.983 is shown as 98.3 %."""
    return bool(metric_words(name) & ACCURACY_WORDS)


def is_score(name: str) -> bool:
    return bool(metric_words(name) & SCORE_WORDS) and not is_lower_better(name)


def is_lower_better(name: str) -> bool:
    """A loss is best at its lowest. An accuracy, and every metric that we do not know, is best at its highest."""
    return bool(metric_words(name) & LOSS_WORDS)


def is_input(name: str) -> bool:
    """True for a setting of the training, which is no measurement."""
    return name.lower().rpartition("/")[2] in INPUTS
