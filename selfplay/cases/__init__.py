"""What a case is, and when an answer meets it.

`case` has the record, `calls` how arguments are written, `values` how results cross process borders. `read` takes the literal
tests out of a text, by way of `evaluate`; `check` decides them, by way of `equality`. What a call did as a
whole is an `outcome`, `alike` says when two count as one, and `near` changes one a little. Nothing here runs a program, and
every comparison has a budget of `steps`.
"""
