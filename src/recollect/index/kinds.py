"""How the indexes know an event's kind: by its code, and by another one where it is traffic of our own tools."""

OWN = 16  # added to the kind of such an event
