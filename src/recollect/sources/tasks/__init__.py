"""Reads tasks of Cline, Roo Code and Kilo Code, which share one log format."""
