"""Images over REST."""

import json

from cluster.services.images.default_images import record_images
from cluster.services.images.environments import read_default_environment
from tests.pages.portal.pages_lab import Lab, lab
from tests.pages.portal.views.environments.test_environments import CPU, REGISTRY

__all__ = ["lab"]


def test_rest_says_the_same(lab: Lab) -> None:
    record_images(lab.cluster, [CPU], REGISTRY)
    found = json.loads(lab.browser(lab.minjun).get("/api/v1/images").text)
    (item,) = found["items"]
    assert (item["reference"], item["is_protected"]) == (f"{REGISTRY}/groundcrew-default@{CPU.digest}", True)
    assert item["contents"][0] == {
        "library": "horovod",
        "version": "0.28.1",
        "purpose": "Training on several ranks",
    }
    known = read_default_environment(lab.cluster)
    assert known is not None and found["training_environment"]["digest"] == known.digest
