"""Step 4, INDEX: indexes of text, n-grams and vectors. A deleted index is rebuilt from the archive."""
