// The page of the search: claims by name, prose before names of functions, snippets of prose only.
document.addEventListener("DOMContentLoaded", () => {
  if (!document.getElementById("search-results") || typeof Search === "undefined") return;

  // The name of a function counts like a word of the text, not more than a title.
  Object.assign(Scorer, { objNameMatch: 4, objPartialMatch: 1, objPrio: { 0: 1, 1: 1, 2: -5 } });

  // A hit that leads to a claim says which one.
  const perform = Search._performSearch;
  Search._performSearch = (...asked) => perform(...asked).map((hit) => {
    const claim = /^#(?:box|claim)-(.+)$/.exec(hit[2]);
    return claim ? [hit[0], `${claim[1]}: ${hit[1]}`, ...hit.slice(2)] : hit;
  });

  // Neither the frame of the page, nor code, nor the source of a formula.
  Search.htmlToText = (text, anchor) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    const place = page.getElementById(decodeURIComponent((anchor || "#").slice(1)));
    const box = place?.closest(".claim-box, .claim-card, section")
      || page.querySelector("article") || page.body;
    const noise = "script, style, nav, h1, .headerlink, .cell_input, .highlight, summary, button, "
      + ".visually-hidden, .claim-badge, .toctree-wrapper";
    for (const element of box.querySelectorAll(noise)) element.remove();
    for (const formula of box.querySelectorAll(".math")) formula.replaceWith(" … ");
    for (const block of box.querySelectorAll("p, li, dt, dd, td, th, h2, h3, h4")) block.append(" ");
    return box.textContent.replace(/\s+/g, " ");
  };
});
