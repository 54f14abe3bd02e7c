"""From turns to verdicts: what a player wrote is read, admitted, run and compared.

`turns` reads a discriminator's suite, `admission` says what of it counts (`domain`, `strength` and `probes` help), `judge`
runs programs on cases, and the `clerk` does everything that a model's text may make expensive, in a process of its own.
`execute` and `judgement` are the ways in from Python and from the command line.
"""
