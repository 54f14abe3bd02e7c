"""Runs attacks on the judge: wrong programs that want credit, programs that want out, tests that want pay, harm.

The attacks themselves are data and lie in the folder attacks/ beside sandbox/, a file for each family.

    attack.py    what an attack is
    library.py   reads the files
    weak.py      the weak runners that attacks are shown to beat
    scene.py     what escapes aim at: folders, a secret, a process and a port, all the battery's own
    exams.py     judges attackers and honest work together, as in training
    measured.py  the same in a process of its own, with limits, and what it spent
    interpreter.py  runs Python in a process of its own
    commands.py  calls the command line on an attack's files
    battery.py   runs one attack against a sandbox and a weak runner

All of it was written for this purpose and is harmless by construction: what an escape reads, writes or kills was made by
the battery in a temporary folder, and what would hurt a machine (fork bombs, memory bombs) is bounded.
"""
