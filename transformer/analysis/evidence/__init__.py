"""Statistical evidence: bootstrap intervals and verdicts.

`bootstrap` gives intervals, `verdicts` the words that findings and races over seeds share.
It may not know what was measured: numbers in, intervals and words out.
"""
