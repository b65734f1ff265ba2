"""The portal as gunicorn serves it, with a real doorbell."""
