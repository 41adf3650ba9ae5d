"""Step 4, INDEX: derived from the archive, never the truth. Delete it, and it comes back."""
