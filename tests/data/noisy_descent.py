"""A training of somebody's own, as the journey uploads it: five steps a second, a line and a point each."""

import math
import random
import sys
import time

import groundcrew_job

PER_EPOCH = 10
steps = int(sys.argv[1])
chance = random.Random(7)
for step in range(steps):
    loss = 0.1 + 2.2 * math.exp(-step / 45) + chance.uniform(-0.05, 0.05)
    accuracy = 0.97 - 0.87 * math.exp(-step / 50) + chance.uniform(-0.02, 0.02)
    scalars = {"loss": loss, "accuracy": accuracy, "learning_rate": 0.01 if step < 100 else 0.001}
    if step % PER_EPOCH == 0:
        scalars |= {"loss_validation": loss + 0.06, "accuracy_validation": accuracy - 0.02}
    groundcrew_job.log(
        step=step, epoch=step / PER_EPOCH, epochs=steps / PER_EPOCH, images_per_second=5 * 32, **scalars
    )
    print(f"step {step} of {steps}: loss {loss:.4f}, accuracy {accuracy:.4f}", flush=True)
    time.sleep(0.2)
print("descended", flush=True)
