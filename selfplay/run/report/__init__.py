"""A run as one HTML page that needs nothing else: `read_run` reads the folder (run/reading.py), `write_report` makes the page.

`episodes` turns matches into what the viewer shows, `tallies` counts what fails and what kills, `curves` draws, `page` puts it
together from the template, style and script that lie beside them.
"""

from selfplay.run.reading import read_run
from selfplay.run.report.page import write_report

__all__ = ["read_run", "write_report"]
