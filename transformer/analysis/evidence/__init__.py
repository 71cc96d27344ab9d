"""Statistical evidence: bootstrap intervals and verdicts.

`bootstrap` computes intervals; `verdicts` defines the verdicts that findings and races share. The
package does not know what was measured: numbers go in, intervals and verdicts come out.
"""
