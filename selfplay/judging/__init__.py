"""From turns to verdicts: what a player wrote is read, admitted, run and compared.

A turn is read: literal cases, and a rest. The rest runs once against the reference and becomes cases too, its sites. Admission
says which of both count; then programs get a verdict on each.

`turns` reads a discriminator's suite, `admission` says what of it counts (`domain`, `probes` and `references` help), `judge`
runs programs on cases, and the `clerk` does everything that a model's text may make expensive, in a process of its own. Texts
that run are `texts` to the judge; `replay` runs them, between a test's `script` and the `actors`, and `naming` names what they
ask. What an assertion refuses `near_runs` try, and `alone` by which call.
`execute` and `judgement` are the ways in from Python and from the command line.
"""
