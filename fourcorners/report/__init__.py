"""Findings and recordings become a page and a terminal summary. Nothing is computed here."""

from .html import render_html, write_html
from .terminal import render_summary

__all__ = ["render_html", "render_summary", "write_html"]
