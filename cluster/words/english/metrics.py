"""English for the names of metrics and for what a value of them is, by code."""

WORDS = {
    "metric.accuracy/train": "train accuracy",
    "metric.accuracy/validation": "val accuracy",
    "metric.loss/train": "train loss",
    "metric.loss/validation": "val loss",
    "metric.learning_rate": "learning rate",
    "metric.images_per_second": "images per second",
    "metric.value.best": "best",
    "metric.value.last": "last",
}
