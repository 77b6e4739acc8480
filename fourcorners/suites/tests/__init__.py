"""The reviews' tests and their relatives, one idea a module."""
