"""Step 9, SERVE: the same table of operations over every protocol. No logic here."""
