"""The archive in SQLite: connection, schema, reader and writer."""
