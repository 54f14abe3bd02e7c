"""Wrong programs made from a reference, and programs told apart by what they do.

`operators` change a syntax tree, `mutants` are the programs that come of it, `bank` keeps the useful ones of each problem;
`classes` sorts problems whose references do the same on the same inputs into one class, which is never split.
"""
