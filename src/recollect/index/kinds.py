"""How the indexes know an event's kind: by its code, and by another one where it is of a special sort."""

OWN = 16  # added to the kind of an event that is traffic of our own tools
USAGE = 32  # and of what the agent noted about itself, where it is a count of tokens
