"""Mechanics of disks."""
