"""Ask the site's registry which blobs it lacks, and push an image archive into it by skopeo.

https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md
"""

import base64
import hashlib
import http.client
import json
import os
import ssl
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from cluster.domain.errors import Unavailable
from cluster.domain.images import DefaultImage
from worker.oci.image_archive import Descriptor, parse_descriptors

PATIENCE_SECONDS = 20
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
REGISTRY_USER = "groundcrew"


class RegistryFailed(Unavailable):
    """`registry` is its address, `line` what it or skopeo said."""


@dataclass(frozen=True)
class SiteRegistry:
    """`address` is host and port, `trust` a folder with ca.crt, `password` a file with one line."""

    address: str
    trust: Path
    password: Path

    def reference(self, image: DefaultImage) -> str:
        """What a pod names as its image."""
        return f"{self.address}/{image.name}@{image.digest}"

    def list_missing_digests(self, image: DefaultImage) -> list[str]:
        """The digests of what is not there any more, or not in its length; empty where all stands.

        Raises RegistryFailed.
        """
        manifest = self.read(f"/v2/{image.name}/manifests/{image.digest}")
        if manifest is None or f"sha256:{hashlib.sha256(manifest).hexdigest()}" != image.digest:
            return [image.digest]
        parts = parse_descriptors(json.loads(manifest))
        return [part.digest for part in parts if not self.has_whole_blob(image, part)]

    def has_whole_blob(self, image: DefaultImage, part: Descriptor) -> bool:
        """By the length that it says, where it says one. Raises RegistryFailed."""
        answer = self.request(f"/v2/{image.name}/blobs/{part.digest}", "HEAD")
        length = answer and answer[0].getheader("Content-Length")
        return answer is not None and (length is None or length == str(part.size))

    def read(self, path: str) -> bytes | None:
        """None where it has no such thing. Raises RegistryFailed."""
        answer = self.request(path, "GET")
        return None if answer is None else answer[1]

    def request(self, path: str, method: str) -> tuple[http.client.HTTPResponse, bytes] | None:
        host, _, port = self.address.rpartition(":")
        headers = {"Accept": MANIFEST, "Authorization": f"Basic {self.basic_credentials()}"}
        try:
            connection = http.client.HTTPSConnection(
                host, int(port), timeout=PATIENCE_SECONDS, context=self.tls_context()
            )
            with closing(connection):
                connection.request(method, path, headers=headers)
                answer = connection.getresponse()
                body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise RegistryFailed("registry.failed", registry=self.address, line=str(error)[:300]) from error
        if answer.status == http.HTTPStatus.NOT_FOUND:
            return None
        if answer.status != http.HTTPStatus.OK:
            raise RegistryFailed(
                "registry.failed", registry=self.address, line=f"{answer.status} {answer.reason}"
            )
        return answer, body

    def tls_context(self) -> ssl.SSLContext:
        """A site's own certificate is trusted as it is, whoever has signed it: containerd and skopeo do so too."""
        context = ssl.create_default_context(cafile=str(self.trust / "ca.crt"))
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return context

    def basic_credentials(self) -> str:
        """User and password as HTTP wants them."""
        return base64.b64encode(f"{REGISTRY_USER}:{self.password.read_text().strip()}".encode()).decode()

    def push_archive(self, archive: Path, image: DefaultImage) -> None:
        """Only what is missing travels; its digest stays what it is. Raises RegistryFailed."""
        target = f"docker://{self.address}/{image.name}:{image.tag}"
        held = os.memfd_create("login")
        try:
            os.write(held, json.dumps({"auths": {self.address: {"auth": self.basic_credentials()}}}).encode())
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
