"""Reads the files that agents changed from raw logs, with plain `json`. Shares no code with the package.

Where an agent records what an edit did (a diff, or that a file is new), that record counts, not the arguments of the call.
"""
