"""What NVML says about this node's GPUs; without the driver there simply are none."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pynvml

from cluster.domain.topology import Pair, find_islands

PCI_DEVICES = Path("/sys/bus/pci/devices")
NVIDIA, DISPLAY_CLASSES = "0x10de", ("0x0300", "0x0302")
"""PCI vendor, and the classes of VGA and 3D controllers (a GPU's audio function is none)."""


@dataclass(frozen=True)
class Gpu:
    """Memory in bytes, utilisation in percent, temperature in °C, power in watts; None: not told."""

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
    """GPUs with the same word reach each other over NVLink or one PCIe switch."""
    minor: int | None = None
    """The number in the name of its device file, which need not be its position."""


@dataclass(frozen=True)
class Gpus:
    """`is_hardware_there`: a card sits in the machine, whether or not the driver speaks to it."""

    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    problem: str | None = None
    is_hardware_there: bool = False
    is_simulated: bool = field(default=False)
    """The stand-in library says so in its driver version; nothing else may claim it."""


def read_gpus() -> Gpus:
    hardware = has_nvidia_hardware()
    try:
        with nvml():
            driver = text(pynvml.nvmlSystemGetDriverVersion())
            count = pynvml.nvmlDeviceGetCount()
            gpus = on_islands([gpu for gpu in map(read_gpu, range(count)) if gpu is not None])
            return Gpus(gpus, driver, None, hardware, "simulated" in driver.lower())
    except pynvml.NVMLError as error:
        return Gpus(problem=str(error), is_hardware_there=hardware)


@contextmanager
def nvml() -> Iterator[None]:
    """Opened for each look: a driver that comes back after a restart is seen without restarting the agent."""
    pynvml.nvmlInit()
    try:
        yield
    finally:
        pynvml.nvmlShutdown()


def read_gpu(index: int) -> Gpu | None:
    """None where not even its UUID can be read: a GPU without a name is `gone` for the rows."""
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        uuid = text(pynvml.nvmlDeviceGetUUID(handle))
    except pynvml.NVMLError:
        return None
    memory = ask(pynvml.nvmlDeviceGetMemoryInfo, handle)
    rates = ask(pynvml.nvmlDeviceGetUtilizationRates, handle)
    power = ask(pynvml.nvmlDeviceGetPowerUsage, handle)
    return Gpu(
        uuid=uuid,
        position=index,
        model=text(ask(pynvml.nvmlDeviceGetName, handle) or ""),
        memory_bytes=int(memory.total) if memory else None,
        is_broken=memory is None,
        memory_used_bytes=int(memory.used) if memory else None,
        utilisation=int(rates.gpu) if rates else None,
        temperature=ask(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU),
        power=power / 1000 if power is not None else None,
        minor=ask(pynvml.nvmlDeviceGetMinorNumber, handle),
    )


def on_islands(gpus: Sequence[Gpu]) -> tuple[Gpu, ...]:
    nvlinks: list[Pair] = []
    switches: list[Pair] = []
    handles = {gpu.uuid: ask(pynvml.nvmlDeviceGetHandleByIndex, gpu.position) for gpu in gpus}
    for one, other in combinations(handles, 2):
        ends = handles[one], handles[other]
        if ask(pynvml.nvmlDeviceGetP2PStatus, *ends, pynvml.NVML_P2P_CAPS_INDEX_NVLINK) == 0:
            nvlinks.append((one, other))
        level = ask(pynvml.nvmlDeviceGetTopologyCommonAncestor, *ends)
        if level is not None and level <= pynvml.NVML_TOPOLOGY_MULTIPLE:
            switches.append((one, other))
    islands = find_islands(list(handles), nvlinks, switches)
    return tuple(replace(gpu, island=islands.get(gpu.uuid)) for gpu in gpus)


def ask(question: Any, *arguments: Any) -> Any:
    """None where this GPU does not answer it."""
    try:
        return question(*arguments)
    except pynvml.NVMLError:
        return None


def text(value: str | bytes) -> str:
    """Older releases of pynvml answer in bytes."""
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
