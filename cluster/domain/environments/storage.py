"""Decide to whose storage the files of an environment count."""

from collections.abc import Mapping


def choose_paying_workspace(managers: Mapping[int, int], created_by: int | None) -> int | None:
    """The workspace whose manager asked for the environment; of several the oldest one. If none of its managers has,
    the oldest of its workspaces. None if it is global, so that its files count to nobody.

    `managers` has the manager of each workspace that may choose it.
    """
    own = [workspace for workspace, manager in managers.items() if manager == created_by]
    return min(own or managers, default=None)
