"""What `tools/prose.py` finds on a page: each rule rejects a page that was spoilt for it."""

import json

import pytest

from tests.book.browsing import prose

GOOD = "Because you ask twelve people about every pair of items, we can see which one they like. "
CAPTION = "More people help. Points: means."


def page(text, caption=CAPTION, before=""):
    figure = {"mystnb": {"figure": {"caption": caption}}}
    cells = [("markdown", before, {}), ("code", "plt.show()", figure), ("markdown", text, {})]
    names = ("cell_type", "source", "metadata")
    return json.dumps({"cells": [dict(zip(names, cell, strict=True)) for cell in cells]})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((20 * GOOD,), ""),
        ((20 * GOOD, "More of people."), "without a verb"),
        ((20 * GOOD, CAPTION, 30 * GOOD), "before the first figure"),
        (
            (20 * GOOD + "Whoever asks a lot of people about it may learn a lot.",),
            "[Whoever]",
        ),
        ((20 * GOOD + 5 * "We ask. ",), "at most 8 words"),
        ((GOOD + 20 * GOOD.replace("we", "they").replace("you", "they"),), "we and you"),
        ((20 * GOOD.replace("Because", "When"),), "reasons"),
        (
            (20 * GOOD.replace("we can", "we and most of our readers by now can"),),
            "in a sentence",
        ),
        (
            (20 * GOOD + "We see twins, rails, cards, camps, crowds, because you ask.",),
            "of our own",
        ),
        ((20 * GOOD + "\n```{try} x\nWhoever asks a lot of people.\n```\n",), ""),
    ],
)
def test_a_spoilt_page_is_found(tmp_path, given, said):
    path = tmp_path / "01-page.ipynb"
    path.write_text(page(*given), encoding="utf-8")
    found = prose.faults(path)
    assert bool(found) == bool(said) and said in "".join(found)


def test_running_text_is_what_is_read_aloud():
    text = "# Head\n\nWe see\n\n$$ x $$\n\nand `code` {cite:t}`A`.\n\n| a |\n|---|\n| b |\n"
    text += "\n* **Why.** It is."
    assert prose.text_of(text).split() == "We see Formula and Formula A. It is.".split()
    assert [*prose.sentences("It is 1.5, e.g. so. No")] == ["It is 15, e.g so."]
