"""What an agent measured of its GPUs is read; what is no sensible number is left out."""

from typing import Any

import pytest

from cluster.domain.nodes.gpu_load import LOAD_FACT, GpuLoad, describe_gpu_load, parse_gpu_loads


def test_what_an_agent_writes_is_read() -> None:
    facts = {
        LOAD_FACT: {
            "GPU-1": describe_gpu_load(87, 2**30, 64, 310.5),
            "GPU-2": describe_gpu_load(0, 0, None, None),
        }
    }
    assert parse_gpu_loads(facts) == {
        "GPU-1": GpuLoad(0.87, 2**30, 64, 310.5),
        "GPU-2": GpuLoad(0, 0, None, None),
    }


@pytest.mark.parametrize(
    "written",
    [
        None,
        [],
        {"GPU-1": "busy"},
        {"GPU-1": {}},
        {
            "GPU-1": {
                "percent": 101,
                "temperature": -1,
                "power": float("inf"),
                "memory_used_bytes": float("nan"),
            }
        },
        {"GPU-1": {"percent": True, "temperature": "64", "power": 1e9, "memory_used_bytes": 2**61}},
    ],
)
def test_what_is_no_load_is_left_out(written: Any) -> None:
    assert parse_gpu_loads({LOAD_FACT: written}) == {} == parse_gpu_loads({})
