"""English for nodes and units, by code."""

WORDS = {
    "state.node.ready": "Ready",
    "state.node.draining": "Draining",
    "state.node.lost": "Lost",
    "state.node.unreachable": "Unreachable",
    "state.node.no_executor": "No executor",
    "state.unit.ok": "Working",
    "state.unit.broken": "Broken",
    "state.unit.gone": "Gone",
    "kind.unit.gpu": "GPU",
    "kind.unit.cpu_slot": "CPU slot",
}
