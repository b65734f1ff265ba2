"""Which addresses, branches and folders a git source may have, and which servers git may call."""

from ipaddress import ip_network

import pytest

from cluster.domain.errors import Refused
from cluster.domain.git import git_sources
from cluster.domain.states import GitCredential


@pytest.mark.parametrize(
    ("url", "scheme", "host", "port"),
    [
        ("https://git.lab.example/vision/net.git", "https", "git.lab.example", 443),
        ("https://GIT.lab.example:8443/net", "https", "git.lab.example", 8443),
        ("ssh://git@git.lab.example:2222/vision/net.git", "ssh", "git.lab.example", 2222),
        ("git@git.lab.example:vision/net.git", "ssh", "git.lab.example", 22),
        ("  https://192.0.2.7/net.git ", "https", "192.0.2.7", 443),
    ],
)
def test_https_and_ssh_are_addresses(url: str, scheme: str, host: str, port: int) -> None:
    target = git_sources.parse_git_target(url)
    assert (target.scheme, target.host, target.port, target.url) == (scheme, host, port, url.strip())


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("", "git.address_unusable"),
        ("ext::sh -c touch% /tmp/x", "git.address_unusable"),
        ("ext::sh", "git.address_unusable"),
        ("file:///etc/passwd", "git.address_scheme"),
        ("/srv/net.git", "git.address_scheme"),
        ("../net.git", "git.address_scheme"),
        ("http://git.lab.example/net.git", "git.address_scheme"),
        ("git://git.lab.example/net.git", "git.address_scheme"),
        ("C:/net.git", "git.address_scheme"),
        ("host:net.git", "git.address_scheme"),
        ("https://minji:secret@git.lab.example/net.git", "git.address_has_secret"),
        ("https://token@git.lab.example/net.git", "git.address_has_secret"),
        ("ssh://git:pw@git.lab.example/net.git", "git.address_has_secret"),
        ("ssh://-oProxyCommand=x/net.git", "git.address_unusable"),
        ("-oProxyCommand=x@host:net.git", "git.address_unusable"),
        ("git@-oProxyCommand=x:net.git", "git.address_unusable"),
        ("git@host:-net.git", "git.address_unusable"),
        ("https://git.lab.example/", "git.address_unusable"),
        ("https://git.lab.example/../net", "git.address_unusable"),
        ("https://git.lab.example/net.git?x=1", "git.address_unusable"),
        ("https://git.lab.example/net.git#main", "git.address_unusable"),
        ("https://git.lab.example\\@evil.example/net", "git.address_unusable"),
        ("https://[::1]/net.git", "git.address_unusable"),
        ("https://git.lab.example:0/net.git", "git.address_unusable"),
        ("https://git.lab.example/net\n.git", "git.address_unusable"),
        ("https://git.lab.example/" + "a" * 500, "git.address_unusable"),
    ],
)
def test_everything_else_is_refused(url: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        git_sources.parse_git_target(url)
    assert (refused.value.field, refused.value.code) == ("url", code)


@pytest.mark.parametrize("text", ["", "main", "feature/x-1", "v1.2.3", "a" * 40, "모델", "release+1"])
def test_references(text: str) -> None:
    assert git_sources.check_reference(f" {text} ") == text


@pytest.mark.parametrize(
    "text", ["-x", "a..b", "a b", "a~1", "a^", "a:b", "refs/*", "a@{1}", "x.lock", "a//b", "/a", "a/", "a\\b"]
)
def test_what_is_no_reference(text: str) -> None:
    with pytest.raises(Refused):
        git_sources.check_reference(text)


def test_a_folder_stays_within_the_repository() -> None:
    assert git_sources.check_source_folder("/src/net/", False) == "src/net"
    assert git_sources.check_source_folder(".", False) == ""
    for bad in ("../x", "a/../../b", "a//b", "a\0b"):
        with pytest.raises(Refused):
            git_sources.check_source_folder(bad, True)


@pytest.mark.parametrize(
    ("url", "credential", "code"),
    [
        ("https://h.example/n", GitCredential.NONE, None),
        ("https://h.example/n", GitCredential.TOKEN, None),
        ("https://h.example/n", GitCredential.DEPLOY_KEY, "git.key_needs_ssh"),
        ("git@h.example:n", GitCredential.DEPLOY_KEY, None),
        ("git@h.example:n", GitCredential.TOKEN, "git.token_needs_https"),
        ("git@h.example:n", GitCredential.NONE, "git.ssh_needs_key"),
    ],
)
def test_a_credential_fits_its_address(url: str, credential: GitCredential, code: str | None) -> None:
    target = git_sources.parse_git_target(url)
    if code is None:
        git_sources.check_credential(target, credential)
        return
    with pytest.raises(Refused) as refused:
        git_sources.check_credential(target, credential)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("addresses", "hosts", "is_allowed"),
    [
        (["203.0.113.7"], (), True),
        (["10.20.0.7"], (), True),
        (["127.0.0.1"], (), False),
        (["203.0.113.7", "127.0.0.1"], (), False),
        (["169.254.169.254"], (), False),
        (["10.244.3.1"], (), False),
        (["::ffff:127.0.0.1"], (), False),
        (["::1"], (), False),
        (["127.0.0.1"], ("git.lab.example",), True),
        (["127.0.0.1"], ("git.lab.example:443",), True),
        (["127.0.0.1"], ("git.lab.example:8443",), False),
        (["127.0.0.1"], ("other.example",), False),
    ],
)
def test_this_machine_and_the_cluster_are_not_called(
    addresses: list[str], hosts: tuple[str, ...], is_allowed: bool
) -> None:
    target = git_sources.parse_git_target("https://git.lab.example/net.git")
    networks = [ip_network("10.244.0.0/16")]
    if is_allowed:
        git_sources.check_addresses(target, addresses, hosts, networks)
        return
    with pytest.raises(Refused) as refused:
        git_sources.check_addresses(target, addresses, hosts, networks)
    assert refused.value.code == "git.host_not_allowed"


def test_tokens() -> None:
    assert git_sources.check_token(" abc ") == "abc"
    for bad in ("", "a b", "a\nb", "토큰", "x" * 1001):
        with pytest.raises(Refused):
            git_sources.check_token(bad)
    assert git_sources.check_token_user("") == "git"
    with pytest.raises(Refused):
        git_sources.check_token_user("a:b")


def test_an_origin_is_the_same_on_another_branch() -> None:
    url = "https://git.lab.example/net.git"
    origin = git_sources.origin_of(url, "main", "src")
    assert origin == f"{url}#main:src"
    assert git_sources.is_same_origin(origin, url, "src")
    assert not git_sources.is_same_origin(origin, url, "")
    assert not git_sources.is_same_origin(origin, f"{url}2", "src")
