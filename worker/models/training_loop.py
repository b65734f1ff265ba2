"""Trains a built-in model on all ranks of the job; every model uses this loop."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import groundcrew_job
import numpy as np

from .hyperparameters import Hyperparameters
from .image_classes import NoImages, list_class_images
from .image_loading import read_images
from .ranks import Ranks, hvd, join_ranks, tf, weights_digest

ModelBuilder = Callable[[int, int, Mapping[str, Any]], "tf.keras.Model"]

# A curve then has several points per epoch on a small dataset, and one every few seconds on a large one.
LOGS_PER_EPOCH = 5
STEPS_PER_LOG = 50
EVALUATION_BATCH = 256


@dataclass(frozen=True)
class ImageArrays:
    """Pixels as bytes (count, size, size, channels) and labels (count,) of this rank's images."""

    pixels: np.ndarray
    labels: np.ndarray


def run_training(title: str, build: ModelBuilder, image_size: int) -> None:
    """Runs a built-in model. Exits with code 1 and a sentence if the data or the numbers are unusable."""
    variables = groundcrew_job.variables()
    values = Hyperparameters.of(variables)
    ranks = join_ranks()
    tf.keras.utils.set_random_seed(values.seed)
    folder = groundcrew_job.dataset()
    if folder is None:
        raise SystemExit(f"{title} needs a data set: submit the job with one.")
    try:
        listing = list_class_images(Path(folder))
    except (NoImages, OSError) as error:
        raise SystemExit(f"The data set cannot be read. {error}") from error
    training = _read(ranks, listing.training, image_size, listing.channels)
    validation = _read(ranks, listing.validation, image_size, listing.channels)
    model = build(listing.channels, len(listing.classes), variables)
    steps, batch = steps_per_epoch(ranks, len(training.labels), values.batch_size)
    ranks.print_once(
        f"{title}: {len(listing.classes)} classes, {len(listing.training)} training and "
        f"{len(listing.validation)} validation images of {image_size}x{image_size} "
        f"{'grey' if listing.channels == 1 else 'RGB'}; {ranks.size} rank(s) with {batch} images per step, "
        f"{steps} steps per epoch, {values.epochs} epochs."
    )
    Trainer(ranks, model, values, steps, batch).train(training, validation)


def steps_per_epoch(ranks: Ranks, images: int, batch_size: int) -> tuple[int, int]:
    """Steps and images per step. Both are the same on every rank, because a rank with one step more would wait for
    ever.
    """
    fewest = ranks.min_over_ranks(images, "images")
    if fewest == 0:
        raise SystemExit(f"The data set has fewer images than the job has ranks ({ranks.size}).")
    batch = min(batch_size, fewest)
    return fewest // batch, batch


class Trainer:
    """Trains one model."""

    def __init__(
        self, ranks: Ranks, model: tf.keras.Model, values: Hyperparameters, steps: int, batch: int
    ) -> None:
        self.ranks = ranks
        self.model = model
        self.values = values
        self.steps = steps
        self.batch = batch
        self.optimizer = _optimizer(values, steps)
        self.leaving = False
        self.losses = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    def train(self, training: ImageArrays, validation: ImageArrays) -> None:
        # From now on a request to stop is answered with a checkpoint.
        groundcrew_job.asked_to_stop()
        done, skip = self._resume()
        begin = done * self.steps + skip
        # Every rank starts with the weights of rank 0.
        self.optimizer.build(self.model.trainable_variables)
        self.optimizer.iterations.assign(begin)
        hvd.broadcast_variables(self.model.variables, root_rank=0)
        hvd.broadcast_variables(_variables_of(self.optimizer), root_rank=0)
        if self.ranks.first:
            groundcrew_job.log(step=begin, epoch=begin / self.steps, scalars={"epochs": self.values.epochs})
        for epoch in range(done, self.values.epochs):
            self._train_epoch(epoch, skip, training, validation)
            skip = 0
        weights = weights_digest(self.model.get_weights())
        print(f"Rank {self.ranks.rank} of {self.ranks.size} ends with weights {weights}.", flush=True)

    def _train_epoch(self, epoch: int, skip: int, training: ImageArrays, validation: ImageArrays) -> None:
        """Trains one epoch without its first `skip` steps, which were taken before a checkpoint in its middle."""
        started = time.perf_counter()
        every = min(max(1, self.steps // LOGS_PER_EPOCH), STEPS_PER_LOG)
        whole, sums, mark = np.zeros(3), np.zeros(3), started
        for step, (pixels, labels) in enumerate(self._batches(epoch, skip, training), start=skip + 1):
            loss, correct = self._step(pixels, labels)
            sums += (float(loss), float(correct), len(labels))
            if step % every == 0 or step == self.steps:
                now = time.perf_counter()
                whole += self._log_training(epoch * self.steps + step, sums, now - mark)
                sums, mark = np.zeros(3), now
                if self.leaving:
                    self._leave(epoch, step)
        speed = whole[2] / (time.perf_counter() - started)
        loss, accuracy = self._evaluate(validation)
        results = {"loss/validation": loss, "accuracy/validation": accuracy}
        reached = (epoch + 1) * self.steps
        groundcrew_job.log(step=reached, epoch=epoch + 1, scalars=results)
        trained = {"loss/train": whole[0] / whole[2], "accuracy/train": whole[1] / whole[2]}
        self._save(epoch + 1, reached, {**trained, **results})
        self.ranks.print_once(
            f"Epoch {epoch + 1}/{self.values.epochs}: loss {trained['loss/train']:.4f}, "
            f"accuracy {trained['accuracy/train']:.4f}, validation loss {loss:.4f}, "
            f"validation accuracy {accuracy:.4f}, {speed:.0f} images/s"
        )

    @tf.function(reduce_retracing=True)
    def _step(self, pixels: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            logits = self.model(_scaled(pixels), training=True)
            losses = self.losses(labels, logits)
            loss = tf.reduce_mean(losses)
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables, strict=True))
        return tf.reduce_sum(losses), _count_correct(labels, logits)

    @tf.function(reduce_retracing=True)
    def _evaluate_batch(self, pixels: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        logits = self.model(_scaled(pixels), training=False)
        return tf.reduce_sum(self.losses(labels, logits)), _count_correct(labels, logits)

    def _batches(self, epoch: int, skip: int, images: ImageArrays) -> Iterator[tuple[tf.Tensor, tf.Tensor]]:
        """The batches in an order that depends on the seed and the epoch."""
        generator = np.random.default_rng([self.values.seed, epoch, self.ranks.rank])
        order = generator.permutation(len(images.labels))
        for step in range(skip, self.steps):
            chosen = order[step * self.batch : (step + 1) * self.batch]
            yield tf.constant(images.pixels[chosen]), tf.constant(images.labels[chosen])

    def _log_training(self, step: int, sums: np.ndarray, seconds: float) -> np.ndarray:
        """Logs the steps since the last call. Returns loss, correct answers and images, summed over all ranks.

        If one rank was asked to stop, the sum tells all ranks at the same step.
        """
        asked = float(groundcrew_job.asked_to_stop())
        loss, correct, count, leaving = self.ranks.sum_over_ranks([*sums, asked], "training")
        self.leaving = leaving > 0
        scalars = {
            "loss/train": loss / count,
            "accuracy/train": correct / count,
            "learning_rate": float(tf.convert_to_tensor(self.optimizer.learning_rate)),
            "images_per_second": count / seconds,
        }
        groundcrew_job.log(step=step, epoch=step / self.steps, scalars=scalars)
        if not np.isfinite(loss):
            # The sum is over all ranks, so all of them stop here.
            raise SystemExit(
                f"The loss is no longer a number at step {step}. A smaller learning_rate usually helps."
            )
        return np.array([loss, correct, count])

    def _evaluate(self, images: ImageArrays) -> tuple[float, float]:
        """The mean loss and the share of correct answers over the validation images of all ranks."""
        sums = np.zeros(3)
        for first in range(0, len(images.labels), EVALUATION_BATCH):
            part = slice(first, first + EVALUATION_BATCH)
            loss, correct = self._evaluate_batch(
                tf.constant(images.pixels[part]), tf.constant(images.labels[part])
            )
            sums += (float(loss), float(correct), len(images.labels[part]))
        loss, correct, count = self.ranks.sum_over_ranks(list(sums), "validation")
        return loss / count, correct / count

    def _leave(self, epoch: int, step: int) -> None:
        """Saves within an epoch. A job that resumes there takes the remaining steps."""
        reached = epoch * self.steps + step
        if step < self.steps:
            self._save(epoch, reached, {}, f"epoch-{epoch:04d}-step-{reached:06d}")
        else:
            self._save(epoch + 1, reached, {})
        self.ranks.print_once(f"Asked to stop: saved after step {reached}, in epoch {epoch + 1}.")
        raise SystemExit(groundcrew_job.LEFT)

    def _save(self, epoch: int, step: int, scalars: dict[str, float], name: str = "") -> None:
        if not self.ranks.first:
            return
        path = Path(groundcrew_job.checkpoints()) / f"{name or f'epoch-{epoch:04d}'}.weights.h5"
        # Keras chooses the file's format by the last two parts of its name, for writing and for reading.
        partial = path.with_name(f".partial.{path.name}")
        self.model.save_weights(partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
        groundcrew_job.save_checkpoint_note(epoch, step, str(path), scalars)

    def _resume(self) -> tuple[int, int]:
        """Epochs that an earlier attempt has finished, and steps of the next one that it has taken.

        The weights are loaded, the momentum is not. With another number of steps per epoch (other units, another
        batch size) the epoch starts again.
        """
        checkpoint = groundcrew_job.latest_checkpoint()
        if checkpoint is None:
            return 0, 0
        self.model.load_weights(checkpoint["path"])
        done = int(checkpoint["epoch"])
        skip = int(checkpoint["step"]) - done * self.steps
        self.ranks.print_once(f"Goes on after epoch {done}, from {Path(checkpoint['path']).name}.")
        return done, skip if 0 < skip < self.steps else 0


def _read(ranks: Ranks, examples: tuple[Any, ...], size: int, channels: int) -> ImageArrays:
    pixels, labels, broken = read_images(ranks.own_share(examples), size, channels)
    for path in broken[:5]:
        print(f"Left out, not a readable image: {path.parent.name}/{path.name}", file=sys.stderr, flush=True)
    if len(broken) > 5:
        print(f"Left out as well: {len(broken) - 5} more.", file=sys.stderr, flush=True)
    return ImageArrays(pixels, labels)


def _optimizer(values: Hyperparameters, steps: int) -> tf.keras.optimizers.Optimizer:
    rate: Any = values.learning_rate
    if values.schedule == "cosine":
        rate = tf.keras.optimizers.schedules.CosineDecay(rate, decay_steps=values.epochs * steps)
    if values.optimizer == "sgd":
        return tf.keras.optimizers.SGD(rate, momentum=values.momentum)
    return tf.keras.optimizers.Adam(rate)


def _scaled(pixels: tf.Tensor) -> tf.Tensor:
    return tf.cast(pixels, tf.float32) / 255.0


def _count_correct(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    right = tf.equal(tf.argmax(logits, axis=1, output_type=labels.dtype), labels)
    return tf.reduce_sum(tf.cast(right, tf.float32))


def _variables_of(optimizer: tf.keras.optimizers.Optimizer) -> list[tf.Variable]:
    variables = optimizer.variables
    return variables() if callable(variables) else variables
