"""The demonstration: real files, real worker processes, a throw-away PostgreSQL."""
