"""Ask the site's registry which blobs are missing, and push an image archive into it.

skopeo cannot tell which blobs a registry lacks: it does not ask for a blob without pulling it, and reports a missing
one only in its error text. So these two questions are asked by HTTP:
https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md
"""

import hashlib
import ssl
from dataclasses import dataclass
from pathlib import Path

import httpx

from cluster.domain.errors import Unavailable
from cluster.domain.images import DefaultImage
from worker.oci.image_archive import BlobDescriptor, parse_descriptors
from worker.oci.skopeo import RegistryLogin, SkopeoFailed, push_archive

PATIENCE_SECONDS = 20
# The length of a compressed answer would differ from that of the blob.
HEADERS = {"Accept": "application/vnd.oci.image.manifest.v1+json", "Accept-Encoding": "identity"}
REGISTRY_USER = "groundcrew"


class RegistryFailed(Unavailable):
    """The registry refused or did not answer. `registry` is its address, `line` the error of the registry or of
    skopeo.
    """


@dataclass(frozen=True)
class SiteRegistry:
    """`address` is host and port, `trust` a folder with ca.crt, `password` a file with one line."""

    address: str
    trust: Path
    password: Path

    def reference(self, image: DefaultImage) -> str:
        """The reference under which a pod names its image."""
        return f"{self.address}/{image.name}@{image.digest}"

    def list_missing_digests(self, image: DefaultImage) -> list[str]:
        """The digests of blobs that are missing or have another length; empty if the image is complete.

        Raises RegistryFailed.
        """
        answer = self.request("GET", f"/v2/{image.name}/manifests/{image.digest}")
        if answer is None or f"sha256:{hashlib.sha256(answer.content).hexdigest()}" != image.digest:
            return [image.digest]
        parts = parse_descriptors(answer.json())
        return [part.digest for part in parts if not self.has_whole_blob(image, part)]

    def has_whole_blob(self, image: DefaultImage, part: BlobDescriptor) -> bool:
        """Whether the blob is there with the expected length, if the registry reports one. Raises RegistryFailed."""
        answer = self.request("HEAD", f"/v2/{image.name}/blobs/{part.digest}")
        return answer is not None and answer.headers.get("Content-Length", str(part.size)) == str(part.size)

    def request(self, method: str, path: str) -> httpx.Response | None:
        """The answer, or None if the registry answers 404. Raises RegistryFailed."""
        login = self.login()
        try:
            answer = httpx.request(
                method,
                f"https://{self.address}{path}",
                headers=HEADERS,
                auth=(login.user, login.password),
                verify=self.tls_context(),
                timeout=PATIENCE_SECONDS,
                trust_env=False,  # The machine's proxy for the internet does not lead to the site's registry.
            )
        except (httpx.HTTPError, OSError) as error:
            raise self.failure(str(error)) from error
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if answer.status_code != httpx.codes.OK:
            raise self.failure(f"{answer.status_code} {answer.reason_phrase}")
        return answer

    def tls_context(self) -> ssl.SSLContext:
        """A TLS context that trusts the site's certificate itself, whoever signed it, as containerd and skopeo do."""
        context = ssl.create_default_context(cafile=str(self.trust / "ca.crt"))
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return context

    def login(self) -> RegistryLogin:
        return RegistryLogin(self.address, REGISTRY_USER, self.password.read_text().strip())

    def push_archive(self, archive: Path, image: DefaultImage) -> None:
        """Pushes the archive; skopeo sends only missing blobs, and the digest does not
        change. Raises RegistryFailed.
        """
        target = f"{self.address}/{image.name}:{image.tag}"
        try:
            push_archive(archive, target, self.trust, self.login())
        except SkopeoFailed as failure:
            raise self.failure(str(failure)) from failure

    def failure(self, line: str) -> RegistryFailed:
        return RegistryFailed("registry.failed", registry=self.address, line=line[:300])
