"""Checks paths that are registered as datasets: only beneath the installation's roots, and never our own folders."""

from pathlib import Path

from cluster.domain.errors import Refused
from cluster.settings import Settings


def check_registered_path(settings: Settings, path: str) -> Path:
    """The resolved folder, so that a link cannot lead out of the roots. Raises Refused."""
    folder = check_dataset_place(settings, path)
    if not folder.is_dir():
        raise Refused("path", "dataset.path_missing", path=path)
    return folder


def check_path_at_start(settings: Settings, path: str | None) -> None:
    """Raises Refused if a folder above the path has become a link since the path was registered. An empty path is
    accepted, because nothing was registered. Reads the file system, which may hang with the storage, so no caller may
    keep others waiting.
    """
    if not path:
        return
    folder = check_dataset_place(settings, path)
    if str(folder) != path:
        raise Refused("path", "dataset.path_leads_elsewhere", path=path, folder=str(folder))


def check_dataset_place(settings: Settings, path: str) -> Path:
    """The path with all links resolved. Raises Refused."""
    roots = [str(root) for root in settings.dataset_roots]
    if not path.startswith("/") or "\0" in path or len(path) > 1000:
        raise Refused("path", "dataset.path_not_absolute", path=path[:200], roots=roots)
    folder = Path(path).resolve()
    if not any(folder.is_relative_to(root.resolve()) for root in settings.dataset_roots):
        raise Refused("path", "dataset.path_outside_roots", path=path, roots=roots)
    for own in find_own_folders(settings):
        if folder.is_relative_to(own) or own.is_relative_to(folder):
            raise Refused("path", "dataset.path_is_ours", path=path)
    return folder


def find_own_folders(settings: Settings) -> list[Path]:
    """The folders with other workspaces' files, with secrets and with backups, all links resolved."""
    own = [settings.state_dir, settings.cache_dir, settings.backups, settings.tls_dir, settings.ansible_dir]
    return [folder.resolve() for folder in own if folder is not None]
