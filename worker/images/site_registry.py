"""Ask the site's registry which blobs it lacks, and push an image archive into it.

skopeo cannot tell what a registry lacks: it asks for no blob without pulling it, and says "not there" in words alone.
So the two questions here are HTTP:
https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md
"""

import hashlib
import ssl
from dataclasses import dataclass
from pathlib import Path

import httpx

from cluster.domain.errors import Unavailable
from cluster.domain.images import DefaultImage
from worker.oci.image_archive import Descriptor, parse_descriptors
from worker.oci.skopeo import RegistryLogin, SkopeoFailed, push_archive

PATIENCE_SECONDS = 20
# An answer that is compressed on its way has another length than the blob.
HEADERS = {"Accept": "application/vnd.oci.image.manifest.v1+json", "Accept-Encoding": "identity"}
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
        answer = self.request("GET", f"/v2/{image.name}/manifests/{image.digest}")
        if answer is None or f"sha256:{hashlib.sha256(answer.content).hexdigest()}" != image.digest:
            return [image.digest]
        parts = parse_descriptors(answer.json())
        return [part.digest for part in parts if not self.has_whole_blob(image, part)]

    def has_whole_blob(self, image: DefaultImage, part: Descriptor) -> bool:
        """By the length that it says, where it says one. Raises RegistryFailed."""
        answer = self.request("HEAD", f"/v2/{image.name}/blobs/{part.digest}")
        return answer is not None and answer.headers.get("Content-Length", str(part.size)) == str(part.size)

    def request(self, method: str, path: str) -> httpx.Response | None:
        """None where it has no such thing. Raises RegistryFailed."""
        login = self.login()
        try:
            answer = httpx.request(
                method,
                f"https://{self.address}{path}",
                headers=HEADERS,
                auth=(login.user, login.password),
                verify=self.tls_context(),
                timeout=PATIENCE_SECONDS,
                trust_env=False,  # The machine's own way to the internet leads to no registry of the site.
            )
        except (httpx.HTTPError, OSError) as error:
            raise self.failure(str(error)) from error
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if answer.status_code != httpx.codes.OK:
            raise self.failure(f"{answer.status_code} {answer.reason_phrase}")
        return answer

    def tls_context(self) -> ssl.SSLContext:
        """A site's own certificate is trusted as it is, whoever has signed it: containerd and skopeo do so too."""
        context = ssl.create_default_context(cafile=str(self.trust / "ca.crt"))
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return context

    def login(self) -> RegistryLogin:
        return RegistryLogin(self.address, REGISTRY_USER, self.password.read_text().strip())

    def push_archive(self, archive: Path, image: DefaultImage) -> None:
        """Only what is missing travels; its digest stays what it is. Raises RegistryFailed."""
        target = f"{self.address}/{image.name}:{image.tag}"
        try:
            push_archive(archive, target, self.trust, self.login())
        except SkopeoFailed as failure:
            raise self.failure(str(failure)) from failure

    def failure(self, line: str) -> RegistryFailed:
        return RegistryFailed("registry.failed", registry=self.address, line=line[:300])
