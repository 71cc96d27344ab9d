"""Races as the Train and the Why page show them: cards to start one, the list, one as it runs."""
