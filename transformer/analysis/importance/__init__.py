"""Importance: how much translation quality is lost without one head or several.

`by_gradient` estimates it from one pass, `ablation` removes heads.
"""
