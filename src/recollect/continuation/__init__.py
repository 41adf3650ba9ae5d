"""Goes on with a session: by its agent's own command, by its agent's own load, or in another agent with a brief."""
