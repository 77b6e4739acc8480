"""Traces of block I/O: what is in them, and files made of them (docs/traces.md).

The reading, sorting and counting are in the Rust crate ``trace``, in bounded memory."""
