"""The `groundcrew` command as one file, and the certificate authority that it is to trust: both without signing in."""

import hashlib
import shlex
import ssl
from dataclasses import dataclass

from flask import Blueprint, Response, abort, request, url_for
from flask.typing import ResponseReturnValue

from portal.command_file import build_command_file
from portal.web.request_context import current_cluster

blueprint = Blueprint("command", __name__)


@blueprint.get("/groundcrew.pyz")
def program() -> ResponseReturnValue:
    """Sends `groundcrew.pyz`, which has the same bytes until the installation is upgraded."""
    file = build_command_file()
    answer = Response(file.content, mimetype="application/zip")
    answer.headers["Content-Disposition"] = "attachment; filename=groundcrew.pyz"
    answer.set_etag(file.sha256)
    return answer


@blueprint.get("/authority.pem")
def authority() -> ResponseReturnValue:
    """Sends the installation's own certificate authority; 404 if its certificate comes from another one."""
    certificate = read_authority()
    if certificate is None:
        abort(404)
    return Response(certificate, mimetype="application/x-pem-file")


def read_authority() -> str | None:
    file = current_cluster().settings.authority_file
    try:
        return None if file is None else file.read_text()
    except OSError:
        return None


@dataclass(frozen=True)
class CommandInstallation:
    """The two lines for a terminal: one fetches the command, the other signs it in. The person types the token."""

    fetch: str
    sign_in: str


def describe_installation() -> CommandInstallation:
    """Describes how to install the command. Without a trusted certificate the digest of the file and the fingerprint
    of the authority are compared.
    """
    certificate = read_authority()
    address = request.host_url.rstrip("/")
    program_url = shlex.quote(url_for("command.program", _external=True))
    digest = build_command_file().sha256
    trust = "" if certificate is None else f" --fingerprint {authority_fingerprint(certificate)}"
    return CommandInstallation(
        f"curl -fso groundcrew{' -k' if certificate else ''} {program_url}"
        f" && echo '{digest}  groundcrew' | sha256sum -c && chmod +x groundcrew",
        f"./groundcrew login --url {shlex.quote(address)}{trust}",
    )


def authority_fingerprint(certificate: str) -> str:
    """SHA-256 of the certificate in the form of browsers and openssl, without colons."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).hexdigest()
