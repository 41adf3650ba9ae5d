"""Step 4, INDEX: text, n-grams and vectors. All are derived from the archive, and are rebuilt from it when deleted."""
