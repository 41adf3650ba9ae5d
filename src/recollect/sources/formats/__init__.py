"""What a source is, and the containers and messages that many agents share."""
