"""The origin of a training's and a job's code, as pages and REST show it."""
