"""Widgets that several pages share: figures, tables, views, controls, pending computations.

A widget that only one page needs belongs in that page's folder.
"""
