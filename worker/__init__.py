"""The hands: tasks, the scheduler loop, the agent and one adapter per outside thing."""
