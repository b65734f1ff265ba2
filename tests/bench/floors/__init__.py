"""What a measure of the queue could reach at best here: the same durable work without the product."""
