"""The site's registry: asks over HTTPS what it has, and lets skopeo put in what is missing.

https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md
"""

import base64
import http.client
import json
import os
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cluster.domain.errors import Unavailable
from cluster.domain.images import Image

PATIENCE_SECONDS = 20
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
LOGIN = "groundcrew"


class RegistryFailed(Unavailable):
    """`registry` is its address, `line` what it or skopeo said."""


@dataclass(frozen=True)
class Registry:
    """`address` is host and port, `trust` a folder with ca.crt, `password` a file with one line."""

    address: str
    trust: Path
    password: Path

    def reference(self, image: Image) -> str:
        """What a pod names as its image."""
        return f"{self.address}/{image.name}@{image.digest}"

    def missing(self, image: Image) -> list[str]:
        """The digests of what is not there any more, the manifest's first; empty where all stands."""
        manifest = self.read(f"/v2/{image.name}/manifests/{image.digest}")
        if manifest is None:
            return [image.digest]
        listed = json.loads(manifest)
        parts = [part["digest"] for part in (listed["config"], *listed["layers"])]
        return [digest for digest in parts if self.read(f"/v2/{image.name}/blobs/{digest}", "HEAD") is None]

    def read(self, path: str, method: str = "GET") -> bytes | None:
        """None where it has no such thing. Raises RegistryFailed."""
        host, _, port = self.address.rpartition(":")
        context = ssl.create_default_context(cafile=str(self.trust / "ca.crt"))
        connection = http.client.HTTPSConnection(host, int(port), timeout=PATIENCE_SECONDS, context=context)
        headers = {"Accept": MANIFEST, "Authorization": f"Basic {self.login()}"}
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise RegistryFailed("registry.failed", registry=self.address, line=str(error)[:300]) from error
        finally:
            connection.close()
        if answer.status == http.HTTPStatus.NOT_FOUND:
            return None
        if answer.status != http.HTTPStatus.OK:
            raise RegistryFailed(
                "registry.failed", registry=self.address, line=f"{answer.status} {answer.reason}"
            )
        return body

    def login(self) -> str:
        """User and password as HTTP wants them."""
        return base64.b64encode(f"{LOGIN}:{self.password.read_text().strip()}".encode()).decode()

    def push(self, archive: Path, image: Image) -> None:
        """Only what is missing travels; its digest stays what it is. Raises RegistryFailed."""
        target = f"docker://{self.address}/{image.name}:{image.tag}"
        held = os.memfd_create("login")
        try:
            os.write(held, json.dumps({"auths": {self.address: {"auth": self.login()}}}).encode())
            done = subprocess.run(
                [
                    *("skopeo", "copy", "--quiet", "--preserve-digests", "--dest-cert-dir", self.trust),
                    *("--authfile", f"/proc/self/fd/{held}", f"oci-archive:{archive}", target),
                ],
                pass_fds=[held],
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            os.close(held)
        if done.returncode != 0:
            said = (done.stderr.strip().splitlines() or ["skopeo said nothing"])[-1]
            raise RegistryFailed("registry.failed", registry=self.address, line=said[:300])
