"""A browser that looks at hosts from a place of its own on their network.

Chromium ends every request that is not on the loopback when an address of its machine comes or goes
(ERR_NETWORK_CHANGED), and on a machine of containers they come and go all the time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import NO_CHROMIUM, find_chromium, launched
from tests.hosts.machines.host_image import docker
from tests.hosts.machines.testbed import ONLOOKER


@contextmanager
def looking_on(network: str, image: str, folder: Path) -> Iterator[Browser]:
    """The chromium of this machine in a network namespace whose addresses nobody changes.

    `network`: of a testbed, whose label the container gets that keeps the namespace; `folder`: for its launcher.
    """
    chromium = find_chromium()
    if chromium is None:
        pytest.fail(NO_CHROMIUM)
    subnet = docker("network", "inspect", "-f", "{{(index .IPAM.Config 0).Subnet}}", network).stdout.strip()
    address = f"{subnet.rpartition('.')[0]}.{ONLOOKER}"
    label = network.removesuffix("-net")
    options = ("--network", network, "--ip", address, "--label", label, "--entrypoint", "sleep")
    keeper = docker("run", "-d", "--init", *options, image, "infinity").stdout.strip()
    try:
        process = docker("inspect", "-f", "{{.State.Pid}}", keeper).stdout.strip()
        launcher = folder / "chromium"
        launcher.write_text(f'#!/bin/sh\nexec nsenter --net=/proc/{process}/ns/net {chromium} "$@"\n')
        launcher.chmod(0o755)
        with launched(str(launcher)) as browser:
            yield browser
    finally:
        docker("rm", "-f", keeper)


@pytest.fixture(scope="module")
def browser(network: str, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Beside the hosts of this module."""
    with looking_on(network, image, tmp_path_factory.mktemp("onlooker")) as browser:
        yield browser
