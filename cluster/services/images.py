"""The default images that this installation has: recorded by whoever built them, read by everybody."""

from dataclasses import replace

from cluster.domain.images import VARIANTS, Image, parse_image
from cluster.domain.people import Actor
from cluster.services.context import Cluster
from cluster.store.leases import Fact

DEFAULT_IMAGES = "default_images"


def record_image(cluster: Cluster, image: Image, registry: str) -> bool:
    """Whether that is news. One image a variant: the newest takes the place of the one before."""
    known = replace(image, registry=registry).to_data()
    with cluster.store.write() as session:
        fact = session.get(Fact, DEFAULT_IMAGES, with_for_update=True)
        before = dict(fact.value) if fact else {}
        if before.get(image.variant) == known:
            return False
        session.merge(Fact(name=DEFAULT_IMAGES, value={**before, image.variant: known}))
    return True


def list_images(cluster: Cluster, actor: Actor) -> list[Image]:
    """In the order of the variants; everybody who has signed in may see them all."""
    with cluster.store.read() as session:
        fact = session.get(Fact, DEFAULT_IMAGES)
    known = fact.value if fact else {}
    return [parse_image(known[variant]) for variant in VARIANTS if variant in known]
