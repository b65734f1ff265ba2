"""The default images of this installation. The image build records them; pages and start plans read them."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from cluster.domain.images import VARIANTS, DefaultImage, parse_default_image
from cluster.domain.people.actor import Actor
from cluster.domain.states import UnitKind
from cluster.services.context import Cluster
from cluster.store.facts import InstallationFact

DEFAULT_IMAGES_FACT = "default_images"


def record_images(cluster: Cluster, images: Sequence[DefaultImage], registry: str) -> bool:
    """Records all default images, one per variant, and returns whether anything changed. A missing variant is
    removed.
    """
    known = {image.variant: replace(image, registry=registry).to_data() for image in images}
    with cluster.store.write() as session:
        fact = session.get(InstallationFact, DEFAULT_IMAGES_FACT, with_for_update=True)
        if fact is not None and fact.value == known:
            return False
        session.merge(InstallationFact(name=DEFAULT_IMAGES_FACT, value=known))
    return True


def read_default_image(session: Session, kind: UnitKind) -> str:
    """The reference that a node pulls for units of this kind. Empty if the site has built none yet."""
    fact = session.get(InstallationFact, DEFAULT_IMAGES_FACT)
    known = fact.value if fact else {}
    wanted = ("cuda", "cpu") if kind is UnitKind.GPU else ("cpu", "cuda")
    return next((parse_default_image(known[variant]).reference for variant in wanted if variant in known), "")


def list_default_images(cluster: Cluster, actor: Actor) -> list[DefaultImage]:
    """The images in the order of the variants. Everybody who has signed in may see them."""
    with cluster.store.read() as session:
        fact = session.get(InstallationFact, DEFAULT_IMAGES_FACT)
    known = fact.value if fact else {}
    return [parse_default_image(known[variant]) for variant in VARIANTS if variant in known]
