"""Configure the distribution's nginx in front of the portal on one machine, to run without root.

The site is the template of the role `nginx_dir`, so that servers and one machine have the same rules and limits.
"""

import os
import resource
import shutil
import socket
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cluster.domain.notebooks.addresses import NotebookSeparation
from cluster.files.atomic import write_atomically
from cluster.settings import Settings
from worker.bootstrap.paths import CLONE, InstallationPaths

TEMPLATES = CLONE / "roles" / "nginx" / "templates"
SITE = "groundcrew.conf.j2"
STATIC = CLONE / "portal" / "static"
CONNECTIONS = 8192
RESERVED_DESCRIPTORS = 128
"""Descriptors beside the connections: the log, the sockets that it listens on, static files."""
FIRST_FREE_PORT = 1024
TEMPORARY_FOLDERS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
PROGRAMS = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"


def find_nginx_program() -> str:
    return shutil.which("nginx", path=PROGRAMS) or "nginx"


def ensure_nginx_configuration(places: InstallationPaths, settings: Settings) -> None:
    """Write nginx's configuration, certificate and start script, readable by the user as which nginx runs."""
    folder = places.nginx_dir
    folder.mkdir(exist_ok=True)
    folder.chmod(0o710)
    give_to_nginx_user(folder, settings)
    scratch = folder / "temp"
    scratch.mkdir(exist_ok=True)
    scratch.chmod(0o700)
    give_to_nginx_user(scratch, settings, owns=True)
    files = {
        "nginx.conf": render_main_configuration(places),
        "site.conf": render_site(places, settings),
        "start": render_start_script(places, settings),
    }
    for name in ("portal.pem", "portal.key"):
        if settings.tls_dir is None:
            (folder / name).unlink(missing_ok=True)
        else:
            files[name] = (settings.tls_dir / name).read_text()
    for name, content in files.items():
        write_atomically(folder / name, content, 0o640, nginx_owner(settings))


def copy_static_files(places: InstallationPaths, settings: Settings) -> None:
    """Copies the files, because nginx's user may not pass through to the clone, which may be in a home folder."""
    target = places.nginx_dir / "static"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(STATIC, target, copy_function=shutil.copyfile)
    for each in (target, *target.rglob("*")):
        each.chmod(0o750 if each.is_dir() else 0o640)
        give_to_nginx_user(each, settings)


def give_to_nginx_user(path: Path, settings: Settings, owns: bool = False) -> None:
    os.chown(path, *nginx_owner(settings, owns))


def nginx_owner(settings: Settings, owns: bool = False) -> tuple[int, int]:
    """The user and group of nginx's files. For root it is nginx's group, and with `owns` its user too; else the current
    user.
    """
    return (settings.uid_base if owns else 0, settings.gid_base) if os.geteuid() == 0 else (-1, -1)


def connection_limit() -> int:
    """The number of connections that the system allows this user."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONNECTIONS if hard == resource.RLIM_INFINITY else min(CONNECTIONS, hard - RESERVED_DESCRIPTORS)


def render_start_script(places: InstallationPaths, settings: Settings) -> str:
    """Renders the script that starts nginx without the settings of the other services, which hold secrets.

    As root nginx runs as a user that nothing else runs as: the ids of people begin behind the first id of their
    range, so that no job has this one.
    """
    files = connection_limit() + RESERVED_DESCRIPTORS
    command = ["exec env -i", f"prlimit --nofile={files}:{files}", "setpriv --no-new-privs"]
    if os.geteuid() == 0:
        ability = "+net_bind_service" if settings.port < FIRST_FREE_PORT else ""
        command += [
            f"--reuid={settings.uid_base} --regid={settings.gid_base} --clear-groups",
            f"--inh-caps={','.join(filter(None, ('-all', ability)))}",
            *([f"--ambient-caps={ability}"] if ability else []),
        ]
    command += [f"{find_nginx_program()} -e stderr -c {places.nginx_dir}/nginx.conf"]
    return f"#!/bin/sh\n# Written by make up.\n{' '.join(command)}\n"


def render_main_configuration(places: InstallationPaths) -> str:
    """Renders a configuration with one process: if it is killed, no other process of nginx still holds the port."""
    scratch = places.nginx_dir / "temp"
    lines = [
        "# Written by make up.",
        "daemon off;",
        "master_process off;",
        f"pid {scratch}/nginx.pid;",
        "error_log stderr error;",
        "events {",
        f"    worker_connections {connection_limit()};",
        "}",
        "http {",
        "    include /etc/nginx/mime.types;",
        "    default_type application/octet-stream;",
        "    sendfile on;",
        "    tcp_nopush on;",
        *(f"    {kind}_temp_path {scratch}/{kind};" for kind in TEMPORARY_FOLDERS),
        f"    include {places.nginx_dir}/site.conf;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def render_site(places: InstallationPaths, settings: Settings) -> str:
    """The role's template, with the paths of this machine."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    has_tls, notebooks = settings.tls_dir is not None, settings.notebooks
    words = f"{'ssl http2 ' if has_tls else ''}backlog=2048"
    # A second server on the same address names no backlog, because nginx accepts it only once.
    shared = f"{listening_address(settings)}{' ssl http2' if has_tls else ''}"
    own = f"{listening_address(settings, notebooks.port)} {words}"
    return environment.get_template(SITE).render(
        nginx_port=settings.port,
        nginx_listen=[f"{listening_address(settings)} {words}"],
        nginx_notebook_listen=[own if notebooks.separation is NotebookSeparation.OWN_PORT else shared],
        nginx_notebook_names=notebooks.server_names,
        nginx_portal_url=settings.public_url,
        nginx_tls_certificate=f"{places.nginx_dir}/portal.pem" if has_tls else "",
        nginx_tls_key=f"{places.nginx_dir}/portal.key",
        nginx_static=f"{places.nginx_dir}/static",
        nginx_portal_socket=places.portal_socket,
        nginx_stream_socket=places.stream_socket,
        nginx_upload_bytes=settings.upload_limit_bytes,
    )


def listening_address(settings: Settings, port: int | None = None) -> str:
    """The address and port on which nginx listens. A host name is resolved to one address of this machine."""
    found = socket.getaddrinfo(settings.host, settings.port, socket.AF_INET, socket.SOCK_STREAM)
    return f"{found[0][4][0]}:{port or settings.port}"
