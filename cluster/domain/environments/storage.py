"""Decide to whose storage the files of an environment count."""

from collections.abc import Mapping


def choose_paying_workspace(managers: Mapping[int, int], created_by: int | None) -> int | None:
    """The workspace whose manager asked for the environment, the oldest one if there are several. If no manager asked
    for it, the oldest of its workspaces. None if the environment is global: its files then count for no workspace.

    `managers` has the manager of each workspace that may choose it.
    """
    own = [workspace for workspace, manager in managers.items() if manager == created_by]
    return min(own or managers, default=None)
