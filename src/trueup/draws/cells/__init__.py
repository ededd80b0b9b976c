"""Cells: the columns Pr(true class | cell), and what they have in common.

Read in this order: `columns` (the model and its chain), `frame` (what the log odds depend on),
`within_classes` (a test set drawn within true classes).
"""
