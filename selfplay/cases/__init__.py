"""What a case is, and when an answer meets it: a case is one test read to data, calls of a function and what is said of them.

`case` has the record, `calls` how arguments are written, `values` how results cross process borders; `compare` decides, by
way of `equality`, `membership`, `views` (one step after the other) or `terms` (any condition), whose steps are in
`functions`, `scalars`, `sequences`, `dictionaries` and `sorting`. Nothing here runs a program, and every comparison has a
budget of `steps`.
"""
