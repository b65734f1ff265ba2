"""The roles of the registry write one address everywhere, the login for root alone, and nothing without TLS."""

import base64
import tomllib

import yaml

from tests.unit.roles.rendering import ROOT, render, value_of

REGISTRY = "10.0.0.10:5443"
PASSWORD = base64.b64encode(b"0123abcd\n").decode()


def hosts_file() -> dict[str, object]:
    read = {"results": [{"content": ""}, {"content": PASSWORD}]}
    return tomllib.loads(
        render("registry_client", "hosts.toml", groundcrew_registry=REGISTRY, registry_client_read=read)
    )


def test_a_node_pulls_by_tls_with_the_login() -> None:
    found = hosts_file()
    (site,) = found["host"].values()  # type: ignore[attr-defined]
    assert found["server"] == f"https://{REGISTRY}" and list(found["host"]) == [found["server"]]  # type: ignore[call-overload]
    assert site["ca"] == f"/etc/containerd/certs.d/{REGISTRY}/ca.crt"
    assert site["capabilities"] == ["pull", "resolve"]
    assert base64.b64decode(site["header"]["authorization"].split()[1]) == b"groundcrew:0123abcd"


def test_the_registry_itself_is_on_the_loopback_interface_and_wants_a_login() -> None:
    found = yaml.safe_load(render("registry", "registry.yml"))
    assert found["http"]["addr"] == "127.0.0.1:5442"
    assert found["auth"] == {"htpasswd": {"realm": "groundcrew", "path": "/etc/groundcrew/registry/htpasswd"}}
    shown = render("registry", "groundcrew-registry.conf", groundcrew_registry=REGISTRY)
    assert "listen 5443 ssl" in shown and "proxy_pass http://127.0.0.1:5442;" in shown
    assert "ssl_certificate /etc/groundcrew/tls/portal.pem;" in shown


def test_a_site_with_a_certificate_of_its_own_is_trusted_by_that() -> None:
    given = {"nginx_certificate": "/etc/ssl/site.pem", "nginx_certificate_key": "/etc/ssl/site.key"}
    assert value_of("registry", "registry_trusted", **given) == "/etc/ssl/site.pem"
    shown = render("registry", "groundcrew-registry.conf", groundcrew_registry=REGISTRY, **given)
    assert "ssl_certificate_key /etc/ssl/site.key;" in shown
    named = value_of(
        "registry",
        "groundcrew_registry",
        groundcrew_public_name="gpu.lab.example",
        groundcrew_address="10.0.0.10",
        **given,
    )
    assert named == "gpu.lab.example:5443"


def test_a_bundle_is_where_the_image_comes_from() -> None:
    hosts = {"groups": {"groundcrew": []}, "hostvars": {}, "default_image_settings_before": {}}
    given = {"groundcrew_registry": REGISTRY, "groundcrew_bundle": "/mnt/bundle", **hosts}
    settings = value_of("default_image", "default_image_settings", **given)
    assert settings["bundle"] == "/mnt/bundle/images"
    assert (
        value_of("default_image", "default_image_settings", **{**given, "groundcrew_bundle": ""})["bundle"]
        == ""
    )
    assert settings["variants"] == ["cpu"]


def test_the_login_is_never_shown() -> None:
    for role, file in (("registry", "registry"), ("registry_client", "client")):
        for task in yaml.safe_load((ROOT / "roles" / role / "tasks" / f"{file}.yml").read_text()):
            if "password" in yaml.safe_dump({key: task[key] for key in task if key != "name"}):
                is_shell = "ansible.builtin.shell" in task
                assert task.get("no_log") or is_shell, task["name"]
