"""A mechanism's code on two neighbours with the same randomness, every call for noise recorded.

After Re:cord-play (Cebere, Erb, Desfontaines, Bellet, Fitzsimons 2026), which wraps the calls of a
library. Here a generator of NumPy writes down what is asked of it, so that nothing in a mechanism
is replaced; what becomes of a draw, ``value + scale * draw``, is seen by moving it a little.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook._typing import Array

_NAMES = {"binomial": ("n", "p", "size"), "standard_normal": ("size",)}
_NAMES |= dict.fromkeys(("laplace", "normal"), ("loc", "scale", "size"))
_VALUES = ("loc", "n")  # where data may enter a call; all else belongs to the noise
_METHODS = {m for m in dir(np.random.Generator) if m[0] != "_"} - {"bit_generator", "spawn"}
_STEP, _SLACK = 1e-3, 1e-6  # central differences, with an error of the order of _STEP**2


@dataclass(frozen=True)
class NoiseCall:
    """One call for noise, on the first data set and on the second."""

    method: str  # of the generator
    place: str  # module, function and line
    shape: tuple[int, ...]  # of what is drawn
    given: tuple[dict[str, Any], dict[str, Any]]  # arguments
    scale: tuple[float, float]  # largest factor of a standard draw in the release; nan if not seen
    shift: float  # of the values behind the draws, in scales: l1, or l2 for normal noise; or nan


@dataclass(frozen=True)
class PlayReport:
    """What `record_play` saw; printed, a sentence, and one for each violation."""

    calls: tuple[NoiseCall, ...]  # as far as both sides ask for the same
    number: tuple[int, int]  # of calls
    l1: float  # shifts over scales, added up over Laplace noise; nan if not seen
    l2: float  # root of the sum of their squares, over Gaussian noise; nan if not seen
    count: float  # l1 shift behind other noise, over the scale if declared; nan if not seen
    ratio: float  # log-ratio of the densities of what the first run released; nan if not seen
    violations: tuple[str, ...]  # each with its place; or why what is declared was not compared
    scaled: bool = True  # else `count` has no scale

    def __str__(self) -> str:
        shifts = {"scales (Laplace)": self.l1, "scales (Gaussian)": self.l2}
        shifts["scales (other)" if self.scaled else "units of the release (other)"] = self.count
        moved = ", ".join(f"{x:.4g} {unit}" for unit, x in shifts.items() if x) or "0"
        first = f"Calls for noise: {self.number[0]} and {self.number[1]}. Shift: {moved}."
        return "\n".join([first, *(f"! {words}" for words in self.violations)])


def record_play(
    mechanism: Callable[..., Any],
    first: Any,
    second: Any,
    *,
    seed: int = 0,
    declared: float | None = None,
    scale: float | None = None,
) -> PlayReport:
    """Run a mechanism on two neighbours with one stream of noise, and compare all calls for it.

    Laplace and normal draws of the second run are then moved, by Newton's method, until it releases
    what the first did: so far do the values behind them move, and whatever looks at the release
    sees the same on both sides. Other noise stays as it is; the release moves as its values do.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data, rng=...)``, such as `dpbook.rankers.Ranker.publish`, returns the numbers
        that are released, an array or a tuple of them, with all its noise from the generator.
    first, second : object
        Two neighbouring data sets.
    seed : int
        Of the noise.
    declared : float, optional
        What the shifts may add up to: epsilon; for Gaussian noise, sensitivity over deviation.
    scale : float, optional
        Declared scale of noise that no call names: of whole numbers, or 1 / epsilon of one answer.
        Without it `count` is in units of what is released, and is not compared.

    Raises
    ------
    ValueError
        If an argument is not as above, or what is released are not numbers.

    Notes
    -----
    It sees code on one path, and no distribution: that nothing is violated proves nothing. With
    what a uniform draw is compared it does not see. Calls that depend on something released that is
    not returned differ without harm.

    Examples
    --------
    >>> def noisy(counts, rng):
    ...     return counts[0] + rng.laplace(scale=counts[1])
    >>> print(*record_play(noisy, [2, 1], [1, 2], declared=1).violations)
    call 1, laplace in dpbook.privacy.record.noisy, line 2: scale = 1 and 2, so noise looks at data
    """
    limit = inf if declared is None else check.nonnegative("declared", declared)
    unit = 1.0 if scale is None else check.noise_scale(scale)
    run = partial(_run, mechanism, check.integer("seed", seed, 0))
    one, two = run(first), run(second)
    size, again = one.draws.size, run(first)
    shift, slopes = np.full(size, nan), np.full((2, one.out.size, size), nan)
    bad, l1, l2, ratio, additive = [], nan, nan, nan, True
    if not np.array_equal(one.out, again.out):
        bad.append("two runs on the first data set differ: some noise is not recorded")
    if not (one.calls or two.calls or np.array_equal(one.out, two.out)):
        bad.append("releases differ, and no call asks for noise")
    if one.out.shape != two.out.shape:
        bad.append(f"{one.out.size} and {two.out.size} numbers are released")
    fits = one.out.shape == two.out.shape and one.kinds == two.kinds
    if fits and size and (start := _slopes(run, first, np.zeros(size))).any():
        two, shift, left = _aligned(run, second, one)
        slopes = np.array([start, _slopes(run, second, shift)])
        if left > _SLACK * (1 + np.abs(one.out).max()):
            bad.append(f"releases differ by {left:.4g} where no noise reaches: nothing hides it")
        l1 = float(np.abs(shift[one.pure]).sum())
        l2 = float(np.linalg.norm(shift[~one.pure]))
        ratio = one.log_density(slopes[0]) - two.log_density(slopes[1])
        louder = run(first, one.draws).out - one.out  # all of this noise once more
        additive = bool(np.allclose(louder, start @ one.draws, rtol=_SLACK, atol=_SLACK))
    elif not size:
        l1 = l2 = 0.0
    count = _count(one, two, fits and not size) / unit
    calls, found = _compared(one, two, shift, slopes, additive)
    bad += found
    moved = l1 + l2 + (0.0 if scale is None or np.isnan(count) else count)
    spent = moved if additive else abs(ratio)
    if spent > limit * (1 + _SLACK):
        worst = max(calls, key=lambda call: np.nan_to_num(call.shift), default=None)
        where = f", most at {worst.method} in {worst.place}" if worst else ": no call for noise"
        told = f"values move by {spent:.4g} scales" if additive else f"densities by e^{spent:.4g}"
        bad.append(f"{told}, {limit:.4g} declared{where}")
    if limit < inf and not bad:
        bad = _unseen(one, two, slopes, spent, scale is not None)
    number = len(one.calls), len(two.calls)
    return PlayReport(tuple(calls), number, l1, l2, count, ratio, tuple(bad), scale is not None)


class _Recorder(np.random.Generator):
    """A seeded generator that keeps its calls, and moves its Laplace and normal draws."""

    def __init__(self, seed: int, moves: Array) -> None:
        super().__init__(np.random.PCG64(seed))
        self.calls: list[tuple[str, str, tuple[int, ...], dict[str, Any]]] = []
        self.draws, self.of, self.moves = np.zeros(0), np.zeros(0, dtype=np.intp), moves
        self.out, self.busy = np.zeros(0), False

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        own = name in _METHODS and not self.busy
        return partial(self._draw, name, found) if own else found

    def _draw(self, name: str, method: Callable[..., Any], *args: Any, **given: Any) -> Any:
        frame = sys._getframe(1)
        place = f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}, line {frame.f_lineno}"
        names = (*_NAMES.get(name, ()), *(f"argument {at}" for at in range(1, 9)))
        named = dict(zip(names, args, strict=False)) | given
        size = named.get("size")
        if name in _NAMES and name != "binomial" and named.keys() <= {"loc", "scale", "size"}:
            loc, scale = named.get("loc", 0.0), named.get("scale", 1.0)
            full = np.broadcast_shapes(np.shape(loc), np.shape(scale)) if size is None else size
            standard = np.array(method(size=full))
            moved = self.moves[self.draws.size :][: standard.size]
            standard.reshape(-1)[: moved.size] += moved
            self.of = np.append(self.of, np.full(standard.size, len(self.calls)))
            self.draws = np.append(self.draws, standard)
            drawn = loc + scale * standard
        else:
            self.busy = True  # a method of NumPy may ask for others
            try:
                drawn = method(*args, **given)
            finally:
                self.busy = False
        named.pop("size", None)
        self.calls.append((name, place, np.shape(drawn), named))
        return drawn

    @property
    def kinds(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(name, shape) for name, _, shape, _ in self.calls]

    @property
    def pure(self) -> NDArray[np.bool_]:  # which draws are Laplace
        return np.array([self.calls[call][0] == "laplace" for call in self.of], dtype=bool)

    def log_density(self, slopes: Array) -> float:
        """Of what was released, a one-to-one function of the draws, up to a constant."""
        widths = np.linalg.svd(slopes)[1]
        if widths.size < self.draws.size or widths.min() < _SLACK * widths.max():
            return nan
        logs = np.where(self.pure, np.abs(self.draws), self.draws**2 / 2)
        return float(-logs.sum() - np.log(widths).sum())


def _run(mechanism: Callable[..., Any], seed: int, data: Any, moves: Any = ()) -> _Recorder:
    record = _Recorder(seed, np.asarray(moves, dtype=float))
    out = mechanism(data, rng=record)
    flat = np.concatenate([np.ravel(part) for part in (out if isinstance(out, tuple) else (out,))])
    record.out = check.real_array("the release of mechanism", flat).astype(float)
    return record


def _slopes(run: Callable[..., _Recorder], data: Any, moves: Array) -> Array:
    """Change of the release with each standard draw, (released, draws)."""
    steps = _STEP * np.eye(moves.size)
    sides = [np.array([run(data, moves + side * step).out for step in steps]) for side in (1, -1)]
    return np.asarray((sides[0] - sides[1]).T / (2 * _STEP))


def _aligned(run: Any, second: Any, one: _Recorder) -> tuple[_Recorder, Array, float]:
    """The second run, moved until it releases what the first did; the moves; what is left."""
    moves = np.zeros(one.draws.size)
    for _ in range(20):
        two = run(second, moves)
        rest = one.out - two.out
        if np.abs(rest).max() <= _SLACK**2 * (1 + np.abs(one.out).max()):
            break
        step = np.linalg.lstsq(_slopes(run, second, moves), rest, rcond=_SLACK)[0]
        if np.abs(step).max() <= _SLACK**2 * (1 + np.abs(moves).max()):
            break
        moves = moves + step
    return two, moves, float(np.abs(rest).max())


def _count(one: _Recorder, two: _Recorder, same: bool) -> float:
    """Answers that go or come, if a call takes their number; else what the release moves."""
    both = zip(one.calls, two.calls, strict=False)
    pairs = [(a, b) for a, b in both if a[0] == b[0] == "binomial"]
    moves = [np.ravel(np.subtract(b[3]["n"], a[3]["n"])) for a, b in pairs if a[2] == b[2]]
    answers = np.concatenate([np.zeros(0), *moves])
    if set(range(len(one.calls))) == set(one.of.tolist()) != set():
        return 0.0  # there is no other noise
    if answers.any():
        return float(max(answers.clip(min=0).sum(), -answers.clip(max=0).sum()))
    return float(np.abs(one.out - two.out).sum()) if same else nan


def _unseen(one: _Recorder, two: _Recorder, slopes: Array, spent: float, scaled: bool) -> list[str]:
    """Why what is declared could not be compared with all that moved."""
    others = set(range(len(one.calls))) - set(one.of.tolist())
    hidden = np.isnan(spent) or not np.nan_to_num(slopes[0]).any(axis=0).all()
    whys = {"a call names no scale, and no `scale` is given": others and not scaled}
    words = "the release, such as a ranking, does not show what is behind each draw"
    whys[words] = hidden or (others and np.array_equal(one.out, two.out))
    return [f"inconclusive: {why}" for why, so in whys.items() if so]


def _compared(
    one: _Recorder, two: _Recorder, shift: Array, slopes: Array, additive: bool
) -> tuple[list[NoiseCall], list[str]]:
    """The calls of both runs as far as they are alike, and what about them is not."""
    calls, bad = [], []
    for k, (kind, a, b) in enumerate(zip(one.kinds, one.calls, two.calls, strict=False)):
        if kind != two.kinds[k]:
            break
        name, place, given, other, of = *a[:2], a[3], b[3], one.of == k
        low, high = (float(np.abs(s[:, of]).max()) if of.any() else nan for s in slopes)
        norm = float(np.linalg.norm(shift[of], 1 if name == "laplace" else 2)) if of.any() else nan
        calls.append(NoiseCall(name, place, kind[1], (given, other), (low, high), norm))
        told = list(_differences(given, other))
        far = np.abs(slopes[0] - slopes[1])[:, of].max(initial=0) > _SLACK * max(1, low)
        if not told and additive and far:
            told = [f"draws are multiplied by {low:.4g} and {high:.4g}"]
        call = f"call {k + 1}, {name} in {place}"
        bad += [f"{call}: {words}, so noise looks at data" for words in told]
    if len(calls) < max(len(one.calls), len(two.calls)):
        name, place, *_ = next(s for s in (one, two) if len(s.calls) > len(calls)).calls[len(calls)]
        words = f"{len(one.calls)} and {len(two.calls)} calls, the first that differs is"
        bad.append(f"{words} {name} in {place}: what is drawn looks at data")
    return calls, bad


def _differences(first: dict[str, Any], second: dict[str, Any]) -> Iterator[str]:
    for name in sorted(first.keys() | second.keys()):
        a, b = first.get(name), second.get(name)
        if name not in _VALUES and not np.array_equal(np.asarray(a), np.asarray(b)):
            yield f"{name} = {_told(a)} and {_told(b)}"


def _told(value: Any) -> str:
    words = " ".join(np.array2string(np.asarray(value), precision=4).split())
    return words if len(words) <= 40 else f"{words[:37]}..."
