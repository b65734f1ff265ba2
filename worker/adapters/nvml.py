"""Reads this node's GPUs through NVML. Without the driver there are none."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pynvml

from cluster.domain.nodes.gpu_topology import LinkedPair, find_gpu_islands

PCI_DEVICES = Path("/sys/bus/pci/devices")
NVIDIA, DISPLAY_CLASSES = "0x10de", ("0x0300", "0x0302")
"""The PCI vendor, and the classes of VGA and 3D controllers. A GPU's audio function has another class."""


@dataclass(frozen=True)
class Gpu:
    """Memory is in bytes, utilisation in percent, temperature in °C and power in watts. None: the GPU does not report
    it.
    """

    uuid: str
    position: int
    model: str
    memory_bytes: int | None
    is_broken: bool = False
    memory_used_bytes: int | None = None
    utilisation: int | None = None
    temperature: int | None = None
    power: float | None = None
    island: str | None = None
    """GPUs with the same value reach each other over NVLink or one PCIe switch."""
    minor: int | None = None
    """The number in the name of its device file, which may differ from its position."""


@dataclass(frozen=True)
class GpuInventory:
    """`is_hardware_there`: the machine has a card, even if the driver does not find it."""

    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    problem: str | None = None
    is_hardware_there: bool = False
    is_simulated: bool = field(default=False)
    """Whether NVML is the simulated library, which says so in its driver version."""


def read_gpus() -> GpuInventory:
    hardware = has_nvidia_hardware()
    try:
        with nvml_session():
            driver = as_str(pynvml.nvmlSystemGetDriverVersion())
            count = pynvml.nvmlDeviceGetCount()
            gpus = with_islands([gpu for gpu in map(read_gpu, range(count)) if gpu is not None])
            return GpuInventory(gpus, driver, None, hardware, "simulated" in driver.lower())
    except pynvml.NVMLError as error:
        return GpuInventory(problem=str(error), is_hardware_there=hardware)


@contextmanager
def nvml_session() -> Iterator[None]:
    """Opens NVML for each reading, so that a driver that comes back is found without a restart of the agent."""
    pynvml.nvmlInit()
    try:
        yield
    finally:
        pynvml.nvmlShutdown()


def read_gpu(index: int) -> Gpu | None:
    """Returns None if not even the UUID can be read. Rows then show the GPU as `gone`."""
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        uuid = as_str(pynvml.nvmlDeviceGetUUID(handle))
    except pynvml.NVMLError:
        return None
    memory = query_or_none(pynvml.nvmlDeviceGetMemoryInfo, handle)
    rates = query_or_none(pynvml.nvmlDeviceGetUtilizationRates, handle)
    power = query_or_none(pynvml.nvmlDeviceGetPowerUsage, handle)
    return Gpu(
        uuid=uuid,
        position=index,
        model=as_str(query_or_none(pynvml.nvmlDeviceGetName, handle) or ""),
        memory_bytes=int(memory.total) if memory else None,
        is_broken=memory is None,
        memory_used_bytes=int(memory.used) if memory else None,
        utilisation=int(rates.gpu) if rates else None,
        temperature=query_or_none(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU),
        power=power / 1000 if power is not None else None,
        minor=query_or_none(pynvml.nvmlDeviceGetMinorNumber, handle),
    )


def with_islands(gpus: Sequence[Gpu]) -> tuple[Gpu, ...]:
    nvlinks: list[LinkedPair] = []
    switches: list[LinkedPair] = []
    handles = {gpu.uuid: query_or_none(pynvml.nvmlDeviceGetHandleByIndex, gpu.position) for gpu in gpus}
    for one, other in combinations(handles, 2):
        ends = handles[one], handles[other]
        if query_or_none(pynvml.nvmlDeviceGetP2PStatus, *ends, pynvml.NVML_P2P_CAPS_INDEX_NVLINK) == 0:
            nvlinks.append((one, other))
        level = query_or_none(pynvml.nvmlDeviceGetTopologyCommonAncestor, *ends)
        if level is not None and level <= pynvml.NVML_TOPOLOGY_MULTIPLE:
            switches.append((one, other))
    islands = find_gpu_islands(list(handles), nvlinks, switches)
    return tuple(replace(gpu, island=islands.get(gpu.uuid)) for gpu in gpus)


def query_or_none(question: Any, *arguments: Any) -> Any:
    """Returns None if the GPU does not support the question."""
    try:
        return question(*arguments)
    except pynvml.NVMLError:
        return None


def as_str(value: str | bytes) -> str:
    """Converts the bytes that older releases of pynvml return."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def has_nvidia_hardware(devices: Path = PCI_DEVICES) -> bool:
    for device in devices.glob("*"):
        try:
            vendor = (device / "vendor").read_text().strip()
            kind = (device / "class").read_text().strip()
        except OSError:
            continue
        if vendor == NVIDIA and kind.startswith(DISPLAY_CLASSES):
            return True
    return False
