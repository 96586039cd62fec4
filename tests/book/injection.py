"""Text that would act on a page if it were put there as it is, and a reader that would notice."""

from html.parser import HTMLParser

MARK = "pwned"
TEXT = f"\"'><script>{MARK}()</script><img src=x onerror={MARK}()><b>{MARK}</b>"
#: The same, and links of Markdown that act; images, ``\\href`` and ``{{ }}`` the ledger refuses.
MARKDOWN = f"{TEXT} [x](javascript:{MARK}()) <javascript:{MARK}()> [x]: javascript:{MARK}()"


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []
        self.inside = ""

    def handle_starttag(self, tag, attributes):
        data = ("type", "application/ld+json") in attributes  # no script to a browser
        self.inside = tag if tag in ("script", "style", "b") and not data else ""
        for name, value in attributes:
            link = (value or "").strip().lower().startswith("javascript:")
            if MARK in (value or "") and (name.startswith("on") or link):
                self.found.append(f"{name} of {tag}")

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside and MARK in data:
            self.found.append(self.inside)


def active(html):
    """Scripts, handlers, links that run and tags that came out of the marked text."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.found
