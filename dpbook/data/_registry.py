"""The respondent-level data sets that the loader knows: addresses, digests, terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dpbook.data import _official

__all__ = ["DATASETS", "MOVIELENS", "SUSHI", "TURK", "Dataset"]


@dataclass(frozen=True)
class Dataset:
    """One line of the registry.

    Parameters
    ----------
    url : str or tuple of str
        The official file or files, pinned to one version where the source has versions.
    sha256 : str
        Digest of the canonical CSV (not of the official file).
    convert : callable
        From the bytes of the official files, one argument each, to the canonical CSV.
    source, licence : str
        Citation, and terms.
    kind : {"comparisons", "rankings", "ratings", "titles"}
        What a line of the canonical CSV holds.
    raw_sha256 : tuple of str
        Digests of the official files as they are served, checked before anything is parsed. Empty
        where we have no copy to take one from: SUSHI, MovieLens and the files of PrefLib. There the
        sizes are limited, and the digest of the result decides.
    """

    url: str | tuple[str, ...]
    sha256: str
    convert: Callable[..., str]
    source: str
    licence: str
    kind: str = "comparisons"
    raw_sha256: tuple[str, ...] = ()

    @property
    def urls(self) -> tuple[str, ...]:
        """All addresses."""
        return (self.url,) if isinstance(self.url, str) else self.url

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the official files."""
        return tuple(url.rsplit("/", 1)[1] for url in self.urls)


_RAW = "https://raw.githubusercontent.com"
_BRADLEYTERRY2 = f"{_RAW}/cran/BradleyTerry2/a6ce24eeadb1eafe36c336c27567a47e9d8e2e7a/data"
_PREFMOD = f"{_RAW}/cran/prefmod/33d8401d754373640426cdb04d1ca004e1989b43/data"
_PREFLIB = f"{_RAW}/PrefLib/PrefLib-Data/679873a5b81fbd19f19ba8adad8ccb4d04655c53/datasets"
_LLMFAO = f"{_RAW}/dustalov/llmfao/9e224e94a40129fd6e1e1529b962307e84af40da"
_MOVIELENS = "https://files.grouplens.org/datasets/movielens/ml-latest-small.zip"
_UNIVERSITIES = ("London", "Paris", "Milano", "St.Gallen", "Barcelona", "Stockholm")
_STATEMENTS = ("crimRate", "position", "socBurd", "culture")


@dataclass(frozen=True)
class _Terms:
    """Citation and terms, shared by a data set and the aggregates counted from it."""

    source: str
    licence: str


SUSHI = _Terms(
    source=(
        "Kamishima, SUSHI preference data sets (sushi3-2016), item set A; "
        "Kamishima, KDD (2003) 583-588"
    ),
    licence="for research; the rankings must not be redistributed without permission",
)
TURK = _Terms(
    source=(
        "Mao, Procaccia and Chen, Better human computation through principled voting, AAAI (2013); "
        "PrefLib data sets 00024 (dots) and 00025 (puzzle)"
    ),
    licence="PrefLib asks for a reference to its site and for the citation; no other terms stated",
)
MOVIELENS = _Terms(
    source=(
        "GroupLens, MovieLens latest-small of September 2018 (100,836 ratings, 610 users, 9,742 "
        "films; not MovieLens 100K); Harper and Konstan, ACM TiiS 5 (2015) 19:1-19:19"
    ),
    licence=(
        "GroupLens' terms: redistribution, also of transformations, under these same conditions; "
        "no commercial or revenue-bearing use without permission of GroupLens; the use is to be "
        "acknowledged by citing Harper and Konstan (2015); no endorsement may be stated or "
        "implied; no warranty"
    ),
)


def _preflib(number: str, name: str) -> tuple[str, ...]:
    return tuple(
        f"{_PREFLIB}/{number}%20-%20{name}/{number}-{part:08d}.soc" for part in range(1, 5)
    )


DATASETS: dict[str, Dataset] = {
    "cems": Dataset(
        url=f"{_BRADLEYTERRY2}/CEMS.R",
        sha256="a06a8b551aafa1ed0e1841cc9b45b5ea33b1f7f5a26675f8dc4c304f990c60c8",
        convert=_official.from_bradleyterry2,
        source="Dittrich, Hatzinger and Katzenbeisser (1998, 2001), R package BradleyTerry2 1.1.3",
        licence="GPL (>= 2)",
        raw_sha256=("8d234652c68637f5408326ccc3b6cee6da138fe00dc0a1499dcf7718d28ef8aa",),
    ),
    "cems_1998": Dataset(
        url=f"{_PREFMOD}/cemspc.RData",
        sha256="eaa7e85f871dc88a51ebdb8aa1fd66321a7aedb3122f1fb63f57115f858fc9e0",
        convert=partial(
            _official.from_prefmod,
            name="cemspc",
            items=_UNIVERSITIES,
            codes={0: "a", 1: "tie", 2: "b"},
        ),
        source="Dittrich, Hatzinger and Katzenbeisser (1998), R package prefmod 0.8-36",
        licence="GPL (>= 2)",
        raw_sha256=("38aa2b0bc569a6ac50c6fbe775d4c39fe89e7c7ac96f739b2db19e49c98f88d5",),
    ),
    "immigration": Dataset(
        url=f"{_PREFMOD}/immig.RData",
        sha256="8b157714bea36d88a6d3a1bff12da150e137e3dd43b3141c30515737cb081811",
        convert=partial(
            _official.from_prefmod,
            name="immig",
            items=_STATEMENTS,
            codes={1: "a", 0: "tie", -1: "b"},
        ),
        source="Weber and Hatzinger (2011), R package prefmod 0.8-36",
        licence="GPL (>= 2)",
        raw_sha256=("3c0d3740d0181ad26f4d799ceee88fca200c0051ffb60ebeb1990d390dbdc3d4",),
    ),
    "llmfao": Dataset(
        url=f"{_LLMFAO}/crowd-comparisons.csv",
        sha256="304a6ae49f7eb9b7d7a78a1248c11457607bf4de39472e64a2a6cf8e3e6ce866",
        convert=_official.from_llmfao,
        source="Ustalov, LLMFAO: large language model feedback analysis and optimization (2023)",
        licence="CC BY 4.0",
        raw_sha256=("106564a4bf06f047a4662979384313c22d9b4ca901e780f9e8419f8e5581adb1",),
    ),
    "sushi": Dataset(
        url="http://www.kamishima.net/asset/sushi3-2016.zip",
        sha256="fe112eb31e2c090e92114f033add792482b9ae5047d312bb230316f26f8b50ab",
        convert=_official.from_sushi,
        source=SUSHI.source,
        licence=SUSHI.licence,
        kind="rankings",
    ),
    "turkdots": Dataset(
        url=_preflib("00024", "dots"),
        sha256="1a25a6435cb78b7f950f8e08e6bd042e25349cb2dc252d3da1b2eb17802934ec",
        convert=_official.from_preflib,
        source=TURK.source,
        licence=TURK.licence,
        kind="rankings",
    ),
    "turkpuzzle": Dataset(
        url=_preflib("00025", "puzzle"),
        sha256="2bdecc9d07dcd09166b8a6d8b178f25408295dbad2a9eb6676bf9624ede3f507",
        convert=_official.from_preflib,
        source=TURK.source,
        licence=TURK.licence,
        kind="rankings",
    ),
    "movielens_top40": Dataset(
        url=_MOVIELENS,
        sha256="2c94a834e1140df5fc97b381936a4a9e07c807c9c1597245dfeddf493302e132",
        convert=_official.from_movielens,
        source=MOVIELENS.source,
        licence=MOVIELENS.licence,
        kind="ratings",
    ),
    "movielens_top40_titles": Dataset(
        url=_MOVIELENS,
        sha256="64525c643e08780a2a619a318375820e1936f05ad97e7b8e45b8fa15fcd71022",
        convert=_official.movielens_titles,
        source=MOVIELENS.source,
        licence=MOVIELENS.licence,
        kind="titles",
    ),
}
"""Known respondent-level data sets by name."""
