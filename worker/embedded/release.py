"""Fingerprint the code and settings that the running services were started with."""

import hashlib
import os
import sys
from pathlib import Path

from worker.bootstrap.paths import InstallationPaths

PACKAGES = ("cluster", "portal", "worker")
OF_NGINX = ("nginx.conf", "site.conf", "start", "portal.pem")


def code_fingerprint(places: InstallationPaths) -> str:
    """Changes with any file of the packages, the settings, and the environment; then services start anew."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        for file in sorted((places.clone / package).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(os.fsencode(file.relative_to(places.clone)) + b"\0" + file.read_bytes() + b"\0")
    for file in (
        places.settings_file,
        places.supervisor_file,
        *(file for file in (places.nginx_dir / name for name in OF_NGINX) if file.exists()),
    ):
        digest.update(file.read_bytes() + b"\0")
    digest.update(os.fsencode(sys.prefix))
    return digest.hexdigest()


def fingerprint_file(places: InstallationPaths) -> Path:
    """The file that remembers the fingerprint of the services that run now."""
    return places.state_dir / "run" / "started-with"
