"""The image for GPUs is made where a host has some, and stays where it was."""

import base64
import json
from typing import Any

import pytest

from tests.unit.roles.rendering import render, value_of

GPU = {"vendor": "0x10de", "device": "0x2330", "class": "0x030200", "address": ""}
NIC = {"vendor": "0x15b3", "device": "0x1021", "class": "0x020700", "address": ""}
FIRST_RUN: dict[str, Any] = {"failed": False}


def hosts(*buses: list[dict[str, str]], by: str = "preflight") -> dict[str, Any]:
    """What a run knows of hosts with these buses, by the role that has looked."""
    seen = [
        {"preflight_seen": {"document": {"pci": bus}}}
        if by == "preflight"
        else {"nvidia_driver_seen": {"hardware": {"pci": bus}}}
        for bus in buses
    ]
    known = {f"w{number}": each for number, each in enumerate(seen)} | {"dark": {}}
    return {
        "groups": {"groundcrew": list(known), "master": ["w0"]},
        "hostvars": known,
        "default_image_settings_before": FIRST_RUN,
    }


def before(*variants: str) -> dict[str, Any]:
    text = json.dumps({"variants": list(variants)})
    return {"content": base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize(
    ("known", "variants"),
    [
        (hosts([NIC]), ["cpu"]),
        (hosts([NIC], [GPU]), ["cpu", "cuda"]),
        (hosts([NIC], [GPU], by="driver"), ["cpu", "cuda"]),
        (hosts() | {"default_image_settings_before": before("cpu", "cuda")}, ["cpu", "cuda"]),
        (hosts() | {"default_image_settings_before": before("cpu")}, ["cpu"]),
        (hosts([GPU]) | {"groundcrew_bundle": "/bundle"}, ["cpu"]),
    ],
)
def test_the_variants_follow_from_the_hosts(known: dict[str, Any], variants: list[str]) -> None:
    assert value_of("default_image", "default_image_variants", **known) == variants


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ({}, "cpu and cuda (default_image_variants)"),
        ({"default_image_variants": ["cpu"]}, "jobs on GPUs are refused until"),
    ],
)
def test_a_run_says_at_its_start_whether_an_image_computes_on_gpus(known: dict[str, Any], says: str) -> None:
    told = hosts([GPU]) | {"groundcrew_kubernetes": True, "groundcrew_executor": "kubernetes"} | known
    told |= {"groundcrew_master": "w0", "groundcrew_address": "10.0.0.1", "groundcrew_vendor_mirror": ""}
    assert says in render("preflight", "choices", **told)
