"""The published paired-comparison surveys, as small aggregate tables.

The tables are typed here as cited facts: how many respondents preferred one item to another, were
undecided, or left no answer.  They contain no individual's answers.

* CEMS universities.  303 students of the Vienna University of Economics compared six partner
  universities, 15 pairs each.  R. Dittrich, R. Hatzinger and W. Katzenbeisser, "Modelling the
  effect of subject-specific covariates in paired comparison studies with an application to
  university rankings", Applied Statistics 47 (1998) 511-525, and the corrigendum, Applied
  Statistics 50 (2001) 247-249.  The answers to Barcelona : Stockholm were reversed in the data
  analysed in 1998; the corrigendum puts them right.  Both editions circulate.
* Immigration.  98 students compared four statements about foreigners, 6 pairs each.  D. Weber and
  R. Hatzinger, "A novel approach for modelling paired comparisons data with non-ignorable missing
  values on students' attitudes towards foreigners", Data Analysis Bulletin 12 (2011) 11-22.
"""

from __future__ import annotations

import numpy as np

from dpbook._validation import choice
from dpbook.data.types import PairTable

__all__ = ["SURVEY_NAMES", "survey_table"]

_CEMS_PAPERS = (
    "Dittrich, Hatzinger and Katzenbeisser, Applied Statistics 47 (1998) 511-525; "
    "corrigendum, Applied Statistics 50 (2001) 247-249"
)
_CEMS_ITEMS = ("London", "Paris", "Milano", "St.Gallen", "Barcelona", "Stockholm")
_CEMS_TIES = (
    (0, 26, 26, 22, 19, 19),
    (26, 0, 32, 19, 37, 30),
    (26, 32, 0, 28, 67, 46),
    (22, 19, 28, 0, 25, 50),
    (19, 37, 67, 25, 0, 41),
    (19, 30, 46, 50, 41, 0),
)
_CEMS_MISSING = (
    (0, 0, 0, 0, 0, 0),
    (0, 0, 91, 0, 0, 0),
    (0, 91, 0, 0, 0, 0),
    (0, 0, 0, 0, 0, 0),
    (0, 0, 0, 0, 0, 0),
    (0, 0, 0, 0, 0, 0),
)
# Reversing a pair changes who wins, not whether there was a decision: same for both editions.
_CEMS_DECIDED = (2, 0, 0, 0, 0, 2, 2, 2, 8, 10, 13, 20, 27, 34, 84, 99)
_CEMS_ANSWERED = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 91, 212)

_CEMS = {
    "items": _CEMS_ITEMS,
    "wins": (
        (0, 186, 221, 208, 217, 250),
        (91, 0, 121, 165, 157, 203),
        (56, 59, 0, 135, 104, 157),
        (73, 119, 140, 0, 144, 155),
        (67, 109, 132, 134, 0, 172),
        (34, 70, 100, 98, 90, 0),
    ),
    "ties": _CEMS_TIES,
    "missing": _CEMS_MISSING,
    "respondents": 303,
    "decided_per_respondent": _CEMS_DECIDED,
    "answered_per_respondent": _CEMS_ANSWERED,
    "source": f"{_CEMS_PAPERS}. Corrected edition, counted from the R package BradleyTerry2 1.1.3",
    "licence": "counted from a package under GPL (>= 2)",
}

_CEMS_1998 = {
    "items": _CEMS_ITEMS,
    "wins": (
        (0, 186, 221, 208, 217, 250),
        (91, 0, 121, 165, 157, 203),
        (56, 59, 0, 135, 104, 157),
        (73, 119, 140, 0, 144, 155),
        (67, 109, 132, 134, 0, 90),
        (34, 70, 100, 98, 172, 0),
    ),
    "ties": _CEMS_TIES,
    "missing": _CEMS_MISSING,
    "respondents": 303,
    "decided_per_respondent": _CEMS_DECIDED,
    "answered_per_respondent": _CEMS_ANSWERED,
    "source": f"{_CEMS_PAPERS}. Edition of 1998, counted from the R package prefmod 0.8-36",
    "licence": "counted from a package under GPL (>= 2)",
}

_IMMIGRATION = {
    "items": ("crimRate", "position", "socBurd", "culture"),
    "wins": ((0, 53, 34, 48), (12, 0, 20, 31), (38, 43, 0, 50), (15, 21, 14, 0)),
    "ties": ((0, 23, 16, 19), (23, 0, 21, 28), (16, 21, 0, 17), (19, 28, 17, 0)),
    "missing": ((0, 10, 10, 16), (10, 0, 14, 18), (10, 14, 0, 17), (16, 18, 17, 0)),
    "respondents": 98,
    "decided_per_respondent": (0, 9, 9, 32, 9, 14, 25),
    "answered_per_respondent": (0, 3, 3, 13, 5, 9, 65),
    "source": (
        "Weber and Hatzinger, Data Analysis Bulletin 12 (2011) 11-22. "
        "Counted from the R package prefmod 0.8-36"
    ),
    "licence": "counted from a package under GPL (>= 2)",
}

_TABLES = {"cems": _CEMS, "cems_1998": _CEMS_1998, "immigration": _IMMIGRATION}

SURVEY_NAMES: tuple[str, ...] = tuple(_TABLES)
"""Names that `survey_table` knows."""


_PLAIN = ("items", "respondents", "source", "licence")


def survey_table(name: str) -> PairTable:
    """Return the aggregate table of a survey.

    Parameters
    ----------
    name : {"cems", "cems_1998", "immigration"}
        "cems" is the corrected edition; "cems_1998" the edition analysed in 1998, in which the
        answers to Barcelona : Stockholm are reversed.

    Returns
    -------
    PairTable
        Counts with their citation in `source`.

    Raises
    ------
    ValueError
        If `name` is unknown.

    Notes
    -----
    Sources: Dittrich, Hatzinger and Katzenbeisser (1998, 2001); Weber and Hatzinger (2011).

    Examples
    --------
    >>> table = survey_table("immigration")
    >>> table.respondents, table.pairs_offered, table.decided, table.tied, table.unanswered
    (98, 6, 379, 124, 85)
    """
    facts = _TABLES[choice("name", name, SURVEY_NAMES)]
    arrays = {k: np.array(v) for k, v in facts.items() if k not in _PLAIN}
    plain = {k: facts[k] for k in _PLAIN}
    return PairTable(**plain, **arrays)  # type: ignore[arg-type]
