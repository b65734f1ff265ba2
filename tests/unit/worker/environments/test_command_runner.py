"""A command gets only what it needs of the caller's environment."""

from worker.environments.command_runner import network_variables


def test_of_the_callers_environment_only_the_way_to_the_index_is_kept() -> None:
    given = {
        "https_proxy": "a",
        "HTTPS_PROXY": "b",
        "PIP_INDEX_URL": "c",
        "SSL_CERT_FILE": "d",
        "PYTHONPATH": "no",
        "PIP_TARGET": "no",
        "GROUNDCREW_SECRET_KEY": "no",
        "LD_PRELOAD": "no",
    }
    assert set(network_variables(given)) == {"https_proxy", "HTTPS_PROXY", "PIP_INDEX_URL", "SSL_CERT_FILE"}
