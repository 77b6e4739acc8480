"""Workloads of applications, as data: what they issue, after which source, and what is assumed."""
