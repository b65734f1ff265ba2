"""The default images of this installation: the image build records them, pages and start plans read them."""

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
    """Whether that is news. These are all of them, one a variant: a variant that a site gave up is shown no longer."""
    known = {image.variant: replace(image, registry=registry).to_data() for image in images}
    with cluster.store.write() as session:
        fact = session.get(InstallationFact, DEFAULT_IMAGES_FACT, with_for_update=True)
        if fact is not None and fact.value == known:
            return False
        session.merge(InstallationFact(name=DEFAULT_IMAGES_FACT, value=known))
    return True


def read_default_image(session: Session, kind: UnitKind) -> str:
    """What a node pulls for units of this kind; empty where the site has built none yet."""
    fact = session.get(InstallationFact, DEFAULT_IMAGES_FACT)
    known = fact.value if fact else {}
    wanted = ("cuda", "cpu") if kind is UnitKind.GPU else ("cpu", "cuda")
    return next((parse_default_image(known[variant]).reference for variant in wanted if variant in known), "")


def list_default_images(cluster: Cluster, actor: Actor) -> list[DefaultImage]:
    """In the order of the variants; everybody who has signed in may see them all."""
    with cluster.store.read() as session:
        fact = session.get(InstallationFact, DEFAULT_IMAGES_FACT)
    known = fact.value if fact else {}
    return [parse_default_image(known[variant]) for variant in VARIANTS if variant in known]
