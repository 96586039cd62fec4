// The page of the search: claims by name, prose before names of functions, snippets of prose only.
document.addEventListener("DOMContentLoaded", () => {
  if (!document.getElementById("search-results") || typeof Search === "undefined") return;

  // The name of a function counts like a word of the text, not more than a title.
  Object.assign(Scorer, { objNameMatch: 4, objPartialMatch: 1, objPrio: { 0: 1, 1: 1, 2: -5 } });

  // Of several words a page need not have all; first come those with many, above all in the title.
  // A hit that leads to a claim says which one.
  const small = new Set("i me my we our you your it what which who how why when do does can".split(" "));
  const perform = Search._performSearch;
  Search._performSearch = (query, stems, excluded, highlight, objects) => {
    const terms = new Set([...stems].filter((stem) => stems.size < 2 || !small.has(stem)));
    for (const word of [...highlight]) if (small.has(word) && terms.size) highlight.delete(word);
    const hits = perform(query, terms, excluded, highlight, objects);
    const pages = new Map();
    for (const term of terms)
      for (const hit of Search.performTermsSearch(new Set([term]), excluded))
        pages.set(hit[0], [hit, (pages.get(hit[0])?.[1] ?? 0) + 1]);
    const had = new Set(hits.map((hit) => hit[0]));
    hits.push(...[...pages].filter(([page]) => !had.has(page)).map(([, [hit]]) => hit));
    const stemmer = new Stemmer();
    const fit = ([page, title]) => {
      const words = title.toLowerCase().replace("ε", "epsilon").split(/[^\p{L}\p{N}]+/u);
      const named = new Set(words.map((word) => stemmer.stemWord(word)).filter((w) => terms.has(w)));
      return (pages.get(page)?.[1] ?? 0) + 2 * named.size;
    };
    return hits.map((hit) => {
      const claim = /^#(?:box|claim)-(.+)$/.exec(hit[2]);
      return claim ? [hit[0], `${claim[1]}: ${hit[1]}`, ...hit.slice(2)] : hit;
    }).sort((a, b) => fit(a) - fit(b) || a[4] - b[4]); // the last is shown first
  };

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
