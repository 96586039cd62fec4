"""Page 03: allowed lists by hand."""

from __future__ import annotations

from dpbook.pages.comparisons_and_rankings import allowed_lists, apart, first_places


def test_allowed_lists_against_scores_by_hand() -> None:
    # Lists 0 = abc, 1 = acb, 2 = bac, ...: two people who agree on all but the last pair.
    lists, others, sets = allowed_lists(3, 2)
    assert others.tolist() == [[k] for k in range(6)]
    abc_acb = {rule: lists[found[1]].tolist() for rule, found in sets.items()}
    assert list(abc_acb.values()) == [[[0, 1, 2], [0, 2, 1]]] * 3
    # abc and cba: everything is tied, so every list is allowed.
    assert all(found[5].all() for found in sets.values())
    top = first_places(lists, sets["Borda"])
    assert top[1].tolist() == [True, False, False] and top[5].all()
    assert apart(sets["Borda"], ~sets["Kemeny"])[5] and not apart(top, top).any()
