"""The messages that tasks send: alerts to administrators, and what each person has chosen to be told."""
