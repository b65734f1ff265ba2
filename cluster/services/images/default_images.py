"""The default images of this installation. The image build records them; pages and start plans read them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.images import VARIANTS, DefaultImage, parse_default_image
from cluster.domain.jobs.gpu_support import GpuSupport
from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentSource, EnvironmentState, UnitKind
from cluster.services.context import Cluster
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact

DEFAULT_IMAGES_FACT = "default_images"
SUPPORT_OF_VARIANT = {"cuda": GpuSupport.YES, "cpu": GpuSupport.NO}


def record_images(cluster: Cluster, images: Sequence[DefaultImage], registry: str) -> bool:
    """Records all default images, one per variant, and returns whether anything changed. A missing variant is
    removed.
    """
    recorded = [replace(image, registry=registry) for image in images]
    known = {image.variant: image.to_data() for image in recorded}
    with cluster.store.write() as session:
        fact = session.get(InstallationFact, DEFAULT_IMAGES_FACT, with_for_update=True)
        has_changed = record_image_environments(session, recorded, cluster.clock())
        if fact is not None and fact.value == known:
            return has_changed
        session.merge(InstallationFact(name=DEFAULT_IMAGES_FACT, value=known))
    return True


def record_image_environments(session: Session, images: Sequence[DefaultImage], now: datetime) -> bool:
    """Makes the rows equal to the images, and returns whether anything changed. An image with another digest is another
    row; the row before it counts as deleted.
    """
    query = select(Environment).where(
        Environment.source == EnvironmentSource.IMAGE, Environment.deleted_at.is_(None)
    )
    rows = {row.name: row for row in session.scalars(query)}
    wanted = {environment_name(image): image for image in images}
    has_changed = False
    for name, row in rows.items():
        if name not in wanted or wanted[name].digest != row.digest:
            row.deleted_at, has_changed = now, True
    session.flush()
    for name, image in wanted.items():
        known = rows.get(name)
        if known is None or known.deleted_at is not None:
            known = Environment(name=name, source=EnvironmentSource.IMAGE, created_at=now)
            session.add(known)
            has_changed = True
        has_changed |= known.reference != image.reference
        describe_image(known, image)
    return has_changed


def environment_name(image: DefaultImage) -> str:
    return f"{image.name}-{image.variant}"[:40]


def describe_image(row: Environment, image: DefaultImage) -> None:
    versions = {part.library: part.version for part in image.contents}
    row.digest, row.reference, row.size_bytes = image.digest, image.reference, image.size
    row.state = EnvironmentState.READY
    row.contents = [list(part.line) for part in image.contents]
    row.python = versions.get("python", "")
    row.gpu_support = SUPPORT_OF_VARIANT.get(image.variant, "")
    row.description = image.system
    row.ready_at = image.made_at


def read_default_image(session: Session, kind: UnitKind) -> str:
    """The reference that a node pulls for units of this kind. Empty if the site has built none yet."""
    fact = session.get(InstallationFact, DEFAULT_IMAGES_FACT)
    known = fact.value if fact else {}
    wanted = ("cuda", "cpu") if kind is UnitKind.GPU else ("cpu", "cuda")
    return next((parse_default_image(known[variant]).reference for variant in wanted if variant in known), "")


def find_image_of(cluster: Cluster, environment: Environment) -> DefaultImage | None:
    """The recorded image behind the environment. None for one of another kind, and for one that was replaced."""
    with cluster.store.read() as session:
        fact = session.get(InstallationFact, DEFAULT_IMAGES_FACT)
    images = [parse_default_image(each) for each in (fact.value if fact else {}).values()]
    return next((image for image in images if image.reference == environment.reference), None)


def list_default_images(cluster: Cluster, actor: Actor) -> list[DefaultImage]:
    """The images in the order of the variants. Everybody who has signed in may see them."""
    with cluster.store.read() as session:
        fact = session.get(InstallationFact, DEFAULT_IMAGES_FACT)
    known = fact.value if fact else {}
    return [parse_default_image(known[variant]) for variant in VARIANTS if variant in known]
