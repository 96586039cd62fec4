"""A page of HTML about a release: to show and to print, without a script or another host."""

from __future__ import annotations

from html import escape
from typing import Any

from dpbook.rank.places import Placed

_STYLE = """
:root { color-scheme: light dark }
body { margin: 0; background: Canvas; color: CanvasText; font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 46rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem; line-height: 1.2 } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% } caption { text-align: left; padding-bottom: .5rem }
th, td { padding: .35rem .4rem; text-align: right; vertical-align: top }
thead th { font-size: .8rem; line-height: 1.25 } tr { border-bottom: 1px solid #8888 }
.item { text-align: left; width: 50%; overflow-wrap: anywhere }
.bar { position: relative; display: block; height: .7rem; margin: .25rem 0 }
.bar i { position: absolute; top: 0; height: 100%; border-radius: .2rem; box-sizing: border-box }
.all { background: #4a86c866 } .noise { background: #4a86c8 } .mark { border: 2px solid }
pre, p { overflow-wrap: anywhere } pre { white-space: pre-wrap }
"""


def page(release: Any) -> str:
    """The ranking with its bars, the promise, the statement, and the commands to repeat it."""
    head, *rows = release.table()
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = ""
    for (item, *others), placed in zip(rows, release.ranking, strict=True):
        cells = "".join(f"<td>{escape(text)}</td>" for text in others)
        bar = _bars(placed, len(release.items))
        body += f'<tr><th scope="row" class="item">{escape(item)}{bar}</th>{cells}</tr>\n'
    caption = "The best first."
    first = release.ranking[0]
    if first.best is not None:
        caption = "The bar shows the ranks that the noise leaves possible, its mark the rank."
    if first.likely_best is not None:
        caption += " The pale bar shows those that noise and sample leave possible."
    title = f"A private ranking of {len(release.items)} items"
    promised, not_promised = map(escape, release.short)
    publish, plan = map(escape, commands(release))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>{_STYLE}</style></head>
<body><main><h1>{title}</h1>
<p>{promised}</p><p>{not_promised}</p>
<table>
<caption>{caption}</caption>
<thead><tr>{names}</tr></thead>
<tbody>
{body}</tbody></table>
<h2>The whole statement</h2><p>{escape(release.statement)}</p>
<h2>How to repeat it</h2>
<p>With the answers in FILE, and the names of all items, one on each line, in ITEMS. A release of
the same answers adds its epsilon to this one.</p>
<pre>{publish}</pre>
<p>What the noise does to the answers of so many people, by simulation, without any data:</p>
<pre>{plan}</pre>
<p>SHA-256 of the table of this release: {release.digest}</p>
</main></body></html>
"""


def commands(release: Any) -> tuple[str, str]:
    """What makes such a release, and what plans it; neither tells where the data are."""
    promise = release.promise
    kept = ("protect", "epsilon", "delta", "relation", "max_answers", "unranked", "repeats")
    options = {name: getattr(promise, name) for name in kept}
    options |= {
        "release": promise.statistic,
        "only": promise.only and f"top:{promise.only}",
        "people": release.people,
        "sampler": release.sampler,
    }
    words = (f"--{name} {value}" for name, value in options.items() if value)
    same = [word.replace("_", "-") for word in words]
    if promise.vouched:
        same.append("--vouch")
    items = "--items-from-data"
    if release.listed:
        items = "--items-file ITEMS"
    repeat = ["dpbook rank FILE", items, *release.read.typed, *same]
    plan = [f"dpbook rank --plan {promise.kind} --items {len(release.items)}", *same]
    if release.people is None:
        plan.append("--people N")
    return " ".join(repeat), " ".join(plan)


def _bars(row: Placed, n: int) -> str:
    """From one rank to another, in percent of the width of all."""
    if row.best is None:
        return ""
    ends = {
        "all": (row.likely_best, row.likely_worst),
        "noise": (row.best, row.worst),
        "mark": (row.place, row.place),
    }
    bars = ""
    for kind, (a, b) in ends.items():
        if a is not None and b is not None:
            place = f"left:{(a - 1) / n:.3%};width:{(b - a + 1) / n:.3%}"
            bars += f'<i class="{kind}" style="{place}"></i>'
    return f'<span class="bar" aria-hidden="true">{bars}</span>'
