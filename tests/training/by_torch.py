"""A user's own training with torch: digits by a small network, each rank on its own part, gradients over Gloo."""

import hashlib
import os
from pathlib import Path

import numpy
import torch
import torch.distributed as ranks
from PIL import Image
from torch import nn
from torch.nn.parallel import DistributedDataParallel

EPOCHS = 40


def main() -> None:
    ranks.init_process_group("gloo")
    rank, size = ranks.get_rank(), ranks.get_world_size()
    torch.manual_seed(rank)  # Ranks begin with other weights: only torch makes them the same.
    files = sorted(Path(os.environ["GROUNDCREW_DATASET"]).glob("[0-9]/*.png"))
    files = [files[number] for number in numpy.random.default_rng(0).permutation(len(files))]
    images = torch.stack(
        [torch.from_numpy(numpy.asarray(Image.open(file), dtype="float32") / 255) for file in files]
    )
    digits = torch.tensor([int(file.parent.name) for file in files])
    held_back = len(files) // 5
    mine = range(held_back + rank, len(files), size)
    network = nn.Sequential(nn.Flatten(), nn.Linear(images[0].numel(), 64), nn.ReLU(), nn.Linear(64, 10))
    model = DistributedDataParallel(network)
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(EPOCHS):
        for first in range(0, len(mine) - 31, 32):
            chosen = list(mine[first : first + 32])
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(images[chosen]), digits[chosen]).backward()
            optimiser.step()
    with torch.no_grad():
        right = model(images[:held_back]).argmax(1) == digits[:held_back]
    content = b"".join(each.detach().numpy().tobytes() for each in network.parameters())
    print(f"rank {rank} of {size} saw {len(mine)} images")
    print(f"accuracy {right.float().mean():.4f} weights {hashlib.sha256(content).hexdigest()[:12]}")
    ranks.destroy_process_group()


main()
