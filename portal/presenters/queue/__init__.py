"""Values of the queue's page, and of waiting jobs wherever they are shown."""
