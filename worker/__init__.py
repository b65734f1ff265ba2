"""The processes that act: task workers, the scheduler, the node agent, and one adapter per outside program."""
