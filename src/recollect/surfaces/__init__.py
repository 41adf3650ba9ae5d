"""Step 9, SPEAK: the same table of operations in each tongue. No logic here."""
