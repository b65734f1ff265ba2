"""The queue: dispatch, its pages, and what a manager does to its order."""
