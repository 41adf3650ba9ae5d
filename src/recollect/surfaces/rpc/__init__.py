"""JSON-RPC 2.0: the protocol, and its stdio and TCP transports."""
