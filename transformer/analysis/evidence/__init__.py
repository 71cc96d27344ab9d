"""Evidence: how sure a figure over a corpus is, and what may be said of it.

`bootstrap` gives intervals, `verdicts` the words that findings and races over seeds share.
It may not know what was measured: numbers in, intervals and words out.
"""
