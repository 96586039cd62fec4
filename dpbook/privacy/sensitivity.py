"""Names of before the units: to be deleted once pages 04 and 09 and the estimate use the units."""

from __future__ import annotations

from dpbook import _validation as check
from dpbook.privacy.neighbours import Ints
from dpbook.privacy.units import DESIGNS, Edge, Person


def count_sensitivity(
    n_items: int, *, privacy: str, design: str | None = None, per_user: int | None = None
) -> int:
    """`Edge.l1` or `Person.l1` of the win counts."""
    found = person_design(privacy, design, per_user, DESIGNS)
    return int((Edge(n_items) if found is None else Person(n_items, per_user, found)).l1("counts"))


def count_neighbours_edge(n_items: int, *, complete: bool = True, kind: str = "flip") -> Ints:
    """`Edge.neighbours` of the win counts; other kinds than flips only if not complete."""
    return Edge(n_items, exchange=not complete).neighbours("counts")


def bundle_contributions(
    n_items: int, *, design: str = "with_replacement", per_user: int | None = None
) -> Ints:
    """`Person.contributions`."""
    return Person(n_items, per_user, design).contributions()


def person_design(
    privacy: str, design: str | None, per_user: int | None, designs: tuple[str, ...]
) -> str | None:
    """The design of what a person answers, None for edge privacy, where there is no person."""
    if check.choice("privacy", privacy, ("edge", "individual")) == "edge":
        for name, value in (("design", design), ("per_user", per_user)):
            if value is not None:
                raise ValueError(
                    f"{name} = {value!r} with privacy = 'edge': allowed is None, since it says "
                    "what a person answers; use privacy='individual' to protect a person"
                )
        return None
    design = check.choice("design", "with_replacement" if design is None else design, designs)
    if design == "with_replacement":
        check.integer("per_user", per_user, 1)
    elif per_user is not None:
        raise ValueError(f"per_user = {per_user!r} with design = {design!r}: allowed is None")
    return design
