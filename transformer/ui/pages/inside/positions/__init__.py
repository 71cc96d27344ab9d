"""The tab Positions: how word order enters the model."""
