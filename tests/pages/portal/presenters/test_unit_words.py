"""Pages call the units of an installation by one name."""

from tests.pages.portal.filled_portal import House


def test_a_cluster_without_gpus_never_says_gpu(house: House) -> None:
    for path in ("/", "/nodes", "/nodes/1", "/workspaces", "/workspaces/1", "/workspaces/new", "/sign-in"):
        for language, word in (("en", "CPU slot"), ("ko", "CPU 슬롯")):
            page = house.visitor("anonymous" if path == "/sign-in" else "administrator").get(
                path, headers={"Accept-Language": language}
            )
            assert "GPU" not in page.text.split("<body")[1].replace("simulated GPU", ""), path
            assert word in page.text or path == "/workspaces", path
