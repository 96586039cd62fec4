"""What Sphinx shows of the claims: one extension."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx_proof.domain import ProofDomain

from dpbook.book.sphinx import (
    access,
    boxes,
    claims,
    domain,
    downloads,
    exercises,
    front,
    hypotheses,
    maps,
    panel,
    plans,
    publishing,
)

DIRECTIVES = {
    "answer": exercises.AnswerDirective,
    "claim": boxes.ClaimDirective,
    "claims-errata": claims.ErrataDirective,
    "claims-ledger": claims.LedgerDirective,
    "claims-map": maps.MapDirective,
    "claims-summary": front.SummaryDirective,
    "claims-upstream": maps.UpstreamDirective,
    "claims-withdrawn": claims.WithdrawnDirective,
    "exercise": exercises.RatedExercise,
    "finding": front.FindingDirective,
    "handouts": plans.HandoutsDirective,
    "hypotheses": hypotheses.HypothesesDirective,
    "objections": claims.ContactDirective,
    "page-list": front.ContentsDirective,
    "page-opens": boxes.PageBox,
    "quiz": boxes.QuizDirective,
    "reading-plan": plans.PlanDirective,
    "remember": boxes.PageBox,
    "session": plans.SessionDirective,
    "theorem": claims.TheoremDirective,
    "try": panel.TryDirective,
}
ROLES = {"page": front.PageRole(), "recorded": front.RecordedRole()}
ROLES |= {"badge": domain.ClaimRole("badge"), "verdict": domain.ClaimRole("verdict")}
ROLES |= {"claim-ref": domain.ClaimRole("ref"), "trust": claims.TrustRole()}
#: What is called when: the event, the function, and its place among others; 500 is usual.
HANDLERS = (
    ("config-inited", publishing.fill_in, 900),
    ("builder-inited", access.search_prose, 500),
    ("doctree-resolved", boxes.explain_terms, 500),
    ("html-page-context", panel.add_panel, 500),
    ("html-page-context", publishing.describe, 600),
    ("html-page-context", access.finish_html, 900),
    ("build-finished", downloads.serve, 500),
    ("build-finished", panel.guard_pages, 900),
)


#: Extensions that keep nothing while they read a page, and do not say so.
SILENT = (
    "sphinx-mathjax-offline",
    "sphinx_jupyterbook_latex",
    "sphinx_multitoc_numbering",
)


def allow_parallel_reading(app: Sphinx, _: Config) -> None:
    """Say of the silent extensions that pages can be read in several processes."""
    for name in SILENT:
        if extension := app.extensions.get(name):
            extension.parallel_read_safe = True
    # It keeps its numbers elsewhere, and merges these itself.
    ProofDomain.merge_domaindata = lambda *_: None


def setup(app: Sphinx) -> dict[str, Any]:
    """Put all parts in place."""
    app.setup_extension("sphinx_exercise")
    front.keep_numbers()
    app.connect("config-inited", allow_parallel_reading)
    for name in ("book_contact", "book_description", "book_preview"):
        app.add_config_value(name, "", "html")
    publishing.identify(app)
    app.setup_extension("sphinxext.opengraph")
    if app.config.html_baseurl:  # else it warns that there is none
        app.setup_extension("sphinx_sitemap")
    app.add_domain(domain.ClaimDomain)
    app.add_post_transform(access.NameTheTables)
    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive, override=name == "exercise")
    for name, role in ROLES.items():
        app.add_role(name, role)
    for event, handler, priority in HANDLERS:
        app.connect(event, handler, priority)
    return {"version": "2", "parallel_read_safe": True, "parallel_write_safe": True}
