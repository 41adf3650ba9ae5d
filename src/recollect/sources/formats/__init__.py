"""The definition of a source, and what many sources share: containers, messages, homes, recognition, token counts."""
