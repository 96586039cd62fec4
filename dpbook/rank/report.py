"""A page of HTML about a release: to show and to print, without a script or another host."""

from __future__ import annotations

from html import escape
from shlex import join

from dpbook.rank.release import Placed, Release

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --page: #fff; --soft: #595959; --line: #d4d4d4;
  --noise: #1f5fa8; --all: #9dbde0; --dot: #1b1b1b }
@media (prefers-color-scheme: dark) { :root { --ink: #ececec; --page: #161616; --soft: #b5b5b5;
  --line: #444; --noise: #7fb2ec; --all: #35587f; --dot: #fff } }
body { margin: 0; background: var(--page); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 46rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem; line-height: 1.2 } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% }
caption { text-align: left; color: var(--soft); padding-bottom: .5rem }
th, td { padding: .35rem .4rem; text-align: right; vertical-align: top }
thead th { font-size: .8rem; line-height: 1.25; vertical-align: bottom }
tr { border-bottom: 1px solid var(--line) }
.item { text-align: left; width: 50%; overflow-wrap: anywhere }
.bar { position: relative; display: block; height: .7rem; margin: .25rem 0 }
.bar i { position: absolute; top: 0; height: 100%; border-radius: .2rem }
pre, p { white-space: pre-wrap; overflow-wrap: anywhere } pre { border-left: 3px solid var(--line);
  padding-left: .8rem }
"""


def page(release: Release) -> str:
    """The ranking with its bars, the promise, the statement, and the command to repeat it."""
    head, *rows = release.table()
    cells = "".join(f'<th scope="col"{_class(name)}>{escape(name)}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(map(_cell, head, row, [_bars(placed, len(release.items))] * len(row)))
        for row, placed in zip(rows, release.ranking, strict=True)
    )
    caption = "Bars: ranks that the noise leaves open"
    if release.people:
        caption += ", and (light) those that noise and sample leave open for all people"
    caption += "; the mark is the rank released." if release.ranking[0].best else ""
    title = f"A private ranking of {len(release.items)} items"
    promised, not_promised = map(escape, release.short)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{promised}</p>
<p>{not_promised}</p>
<table>
<caption>{caption if release.ranking[0].best else "The best first"}</caption>
<thead><tr>{cells}</tr></thead>
<tbody>
{body}
</tbody>
</table>
<h2>The whole statement</h2>
<p>{escape(release.statement)}</p>
<h2>How to repeat it</h2>
<p>With a file of answers; each repetition adds its epsilon to what is spent of the same data.</p>
<pre>{escape(command(release))}</pre>
<p>What the noise would do to such data, before there are any (N people):</p>
<pre>{escape(plan(release))}</pre>
</main>
</body>
</html>
"""
