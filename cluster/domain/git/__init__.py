"""What a training's git source may be, what of a commit becomes code, and why a fetch failed."""
