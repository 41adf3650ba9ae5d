"""Step 9, SPEAK: the same table of operations in every protocol. No logic of its own."""
