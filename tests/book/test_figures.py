"""The look of the figures: legible on any ground, told apart without colour sense, reproducible."""

import io
import itertools

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

import matplotlib.pyplot as plt

from dpbook.book import figures
from tests.oracles import luminance


@pytest.fixture(autouse=True)
def style():
    with mpl.rc_context():
        figures.use_style()
        yield
        plt.close("all")


def draw(form):
    fig, ax = plt.subplots()
    (line,) = ax.plot([0, 1, 2], [1, 3, 2], label="x")
    ax.set(xlabel=r"$\varepsilon$", title="A title")
    figures.label_line(ax, line, "measured")
    stream = io.BytesIO()
    fig.savefig(stream, format=form, metadata={"Date": None} if form == "svg" else None)
    return stream.getvalue()


@pytest.mark.parametrize("form", ["png", "svg"])
def test_the_same_figure_is_the_same_bytes(form):
    assert draw(form) == draw(form)


def test_a_figure_of_a_notebook_has_no_date_and_is_as_large_as_drawn():
    fig, ax = plt.subplots(figsize=(3, 2))
    ax.plot([0, 1])
    plain = io.StringIO()
    fig.savefig(plain, format="svg")
    ours = figures.vector_graphic(fig)
    assert "<dc:date>" in plain.getvalue() and "<dc:date>" not in ours
    assert 'width="216pt" height="144pt"' in ours


def test_what_a_figure_draws_is_told_by_series():
    fig, (left, right) = plt.subplots(1, 2)
    left.plot([1, 2, 3], [4, 5, np.inf], label="errors")
    left.plot([1, 2, 3], [6, 7, 8])
    left.errorbar([1, 2], [0.5, 0.6], yerr=[0.2, 0.4], label="runs")
    right.bar([0, 1], [3, 4])
    right.imshow([[1, 2], [3, 4]])
    found = figures.series_of(fig)
    assert found["line 0.0 errors x"] == [1, 2, 3]
    assert found["line 0.0 errors y"] == [4, 5, "inf"]
    assert found["line 0.1 y"] == [6, 7, 8] and "line 0.1 x" not in found
    assert found["bars 0.0 runs"]["mean"] == [0.5, 0.6]
    assert found["bars 0.0 runs"]["error"] == pytest.approx([0.1, 0.2])
    assert found["image 1.0"] == [1, 2, 3, 4] and found["boxes 1"][3] == 3
    assert len(figures.series_of(draw_many())["line 0.0 y"]) == figures.POINTS


def draw_many():
    fig, ax = plt.subplots()
    ax.plot(np.arange(1000))
    return fig


def test_the_background_is_opaque_white():
    pixels = plt.imread(io.BytesIO(draw("png")))
    assert np.all(pixels[0, 0, :3] == 1)
    assert pixels.shape[2] == 3 or np.all(pixels[..., 3] == 1)


def test_the_style_does_not_depend_on_what_was_set_before():
    first = dict(mpl.rcParams)
    mpl.rcParams["figure.facecolor"] = "none"
    mpl.rcParams["lines.linestyle"] = ":"
    figures.use_style()
    assert dict(mpl.rcParams) == first


# Viénot, Brettel and Mollon (1999): linear RGB as seen without the long or the middle cones.
BLIND = {
    "protan": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "deutan": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
}


@pytest.mark.parametrize("kind", BLIND)
def test_colours_are_told_apart_without_red_or_green_cones(kind):
    seen = {
        name: np.array(BLIND[kind]) @ np.array(mpl.colors.to_rgb(colour)) ** 2.2
        for name, colour in figures.COLORS.items()
    }
    for one, other in itertools.combinations(seen, 2):
        assert np.abs(seen[one] - seen[other]).max() > 0.07, (one, other)
    # the test can fail: a plain red and a plain green of the same strength
    red, green = (
        np.array(BLIND["deutan"]) @ np.array(c) ** 2.2 for c in ([0.8, 0.3, 0.1], [0.55, 0.55, 0.1])
    )
    assert np.abs(red - green).max() < 0.07


def test_the_first_four_lines_are_dark_enough_on_white():
    cycle = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
    assert cycle[0] == figures.COLORS["blue"] and figures.COLORS["yellow"] not in cycle
    for colour in cycle[:3]:
        assert 1.05 / (luminance(colour) + 0.05) > 3  # enough for lines and large text
    assert len(figures.MARKERS) == len(figures.COLORS)


def test_a_line_is_labelled_at_its_right_end():
    _, ax = plt.subplots()
    (line,) = ax.plot([3, 1, 2, 4], [5, 6, 7, np.nan])
    label = figures.label_line(ax, line, "theory")
    assert label.xy == (3.0, 5.0)
    assert label.get_color() == figures.ink(line.get_color())
    (empty,) = ax.plot([1.0], [np.nan])
    with pytest.raises(ValueError, match="no finite point"):
        figures.label_line(ax, empty, "x")


def test_a_table_shows_its_cells_and_fills_the_right_ones():
    fig, ax = plt.subplots(figsize=(4, 2))
    blue = figures.COLORS["blue"]
    table = figures.draw_table(
        ax,
        [["a", "b", "c"], ["d", "e", "f"]],
        rows=["one", "two"],
        columns=["x", "y", "z"],
        filled={(1, 0), (1, 2)},
        color=blue,
    )
    words = {at: cell.get_text().get_text() for at, cell in table.get_celld().items()}
    assert [words[0, column] for column in range(3)] == ["x", "y", "z"]
    assert [words[row, -1] for row in (1, 2)] == ["one", "two"]
    assert [words[2, column] for column in range(3)] == ["d", "e", "f"]
    # What is seen, not what was set: the colour in a corner of each cell, away from the text.
    fig.canvas.draw()
    pixels = np.asarray(fig.canvas.buffer_rgba())[::-1, :, :3] / 255
    pale = 0.45 * np.array(mpl.colors.to_rgb(blue)) + 0.55
    for (row, column), cell in table.get_celld().items():
        box = cell.get_window_extent(fig.canvas.get_renderer())
        seen = pixels[int(box.y0) + 5, int(box.x0) + 5]
        ground = pale if (row, column) in {(2, 0), (2, 2)} else np.ones(3)
        assert np.abs(seen - ground).max() < 0.01, (row, column)
    assert not ax.axison
