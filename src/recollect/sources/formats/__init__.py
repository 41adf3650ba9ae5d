"""What a source is, and what many sources share: containers, messages, homes, recognition, token counts."""
