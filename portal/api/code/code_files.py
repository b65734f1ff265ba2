"""Files of code in the body of a request, in base64."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

from marshmallow import fields, validate

from cluster.domain.errors import Refused
from portal.api.schemas import RequestSchema


class CodeFileBody(RequestSchema):
    path = fields.String(required=True, validate=validate.Length(max=4000))
    content = fields.String(required=True, metadata={"description": "Base64"})


def decode_files(bodies: Iterable[Mapping[str, Any]]) -> list[tuple[str, bytes]]:
    """Raises Refused on `files`."""
    files = []
    for body in bodies:
        try:
            files.append((body["path"], base64.b64decode(body["content"], validate=True)))
        except (binascii.Error, ValueError):
            raise Refused("files", "code.not_base64", file=body["path"][:200]) from None
    return files
