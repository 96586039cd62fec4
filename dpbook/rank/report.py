"""A page of HTML about a release: to show and to print, without a script or another host."""

from __future__ import annotations

from html import escape

from dpbook.rank.release import Placed, Release

_BARS = "\0"  # stands for the bars of an item
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --page: #fff; --soft: #595959; --line: #d4d4d4;
  --noise: #1f5fa8; --all: #9dbde0 }
@media (prefers-color-scheme: dark) { :root { --ink: #ececec; --page: #161616; --soft: #b5b5b5;
  --line: #444; --noise: #7fb2ec; --all: #35587f } }
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
.all { background: var(--all) } .noise { background: var(--noise) }
.mark { border: 2px solid var(--ink); box-sizing: border-box }
pre, p { white-space: pre-wrap; overflow-wrap: anywhere } pre { border-left: 3px solid var(--line);
  padding-left: .8rem }
"""


def page(release: Release) -> str:
    """The ranking with its bars, the promise, the statement, and the commands to repeat it."""
    head, *rows = release.table()
    names = "".join(f'<th scope="col"{_left(name)}>{escape(name)}</th>' for name in head)
    body = "\n".join(
        "".join(["<tr>", *map(_cell, head, row), "</tr>"]).replace(_BARS, _bars(placed, release))
        for row, placed in zip(rows, release.ranking, strict=True)
    )
    caption = "The best first." if release.promise.only != 1 else "The best."
    if release.ranking[0].best:
        caption = "The bar shows which ranks the noise leaves open, the mark the rank released."
    if release.ranking[0].likely_best:
        caption += " The pale bar shows the ranks that noise and sample leave open."
    title = f"A private ranking of {len(release.items)} items"
    promised, not_promised = map(escape, release.short)
    publish, plan = map(escape, commands(release))
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
<caption>{caption}</caption>
<thead><tr>{names}</tr></thead>
<tbody>
{body}
</tbody>
</table>
<h2>The whole statement</h2>
<p>{escape(release.statement)}</p>
<h2>How to repeat it</h2>
<p>With the answers in FILE, and the names of all items, one on each line, in ITEMS. A release of
the same answers adds its epsilon to this one.</p>
<pre>{publish}</pre>
<p>What the noise does to the answers of so many people, by simulation, without any data:</p>
<pre>{plan}</pre>
</main>
</body>
</html>
"""


def commands(release: Release) -> tuple[str, str]:
    """What makes such a release, and what plans it; neither tells where the data are."""
    promise = release.promise
    options = {
        "--protect": promise.protect,
        "--epsilon": promise.epsilon,
        "--delta": promise.delta or None,
        "--relation": "add-remove" if promise.relation == "add_remove" else None,
        "--max-answers": promise.max_answers,
        "--release": "pairs" if promise.statistic == "pairs" else None,
        "--only": promise.only and f"top:{promise.only}",
        "--repeats": "keep" if promise.repeats == "keep" and promise.has_persons else None,
        "--vouch": "" if promise.vouched else None,
    }
    given = " ".join(
        f"{name} {value}".strip() for name, value in options.items() if value is not None
    )
    items = "--items-file ITEMS" if release.listed else "--items-from-data"
    who = f"--people {release.people or 'N'}"
    plan = f"dpbook rank --plan {promise.kind} --items {len(release.items)} {who} {given}"
    return f"dpbook rank FILE {items} {given}", plan


def _left(name: str) -> str:
    return ' class="item"' if name == "item" else ""


def _cell(name: str, text: str) -> str:
    if name == "item":
        return f'<th scope="row" class="item">{escape(text)}{_BARS}</th>'
    return f"<td>{escape(text)}</td>"


def _bars(row: Placed, release: Release) -> str:
    """From one rank to another, as percentages of the width of all."""
    if row.best is None or row.place is None:
        return ""
    spans = [(row.likely_best, row.likely_worst, "all"), (row.best, row.worst, "noise")]
    spans.append((row.place, row.place, "mark"))
    size = 100 / len(release.items)
    return (
        '<span class="bar" aria-hidden="true">'
        + "".join(
            f'<i class="{kind}" style="left:{size * (first - 1):.3f}%;'
            f'width:{size * (last - first + 1):.3f}%"></i>'
            for first, last, kind in spans
            if first is not None and last is not None
        )
        + "</span>"
    )
