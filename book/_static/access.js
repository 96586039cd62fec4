// What the theme leaves undone for those who listen to a page, or use the keyboard alone.
document.addEventListener("DOMContentLoaded", () => {
  // A name that says what is seen: "Search Ctrl + K", not "Search".
  for (const button of document.querySelectorAll(".search-button-field"))
    button.removeAttribute("aria-label");
  // The icons of the colour button have titles that its name, "Color mode", does not contain.
  const untitle = () => {
    for (const icon of document.querySelectorAll(".theme-switch")) {
      icon.removeAttribute("title");
      icon.removeAttribute("aria-labelledby");
      icon.setAttribute("aria-hidden", "true");
      icon.querySelector("title")?.remove();
    }
  };
  untitle();
  addEventListener("load", () => setTimeout(untitle)); // after the font of icons has drawn them
  // The arrow that folds pages of the sidebar away has no words.
  for (const fold of document.querySelectorAll("summary:has(.toctree-toggle)")) {
    const page = fold.closest("li")?.querySelector("a")?.textContent.trim();
    fold.setAttribute("aria-label", `Pages below "${page}"`);
  }
  // The parts of the book fold; the one of this page is open.
  const away = !document.querySelector(".bd-sidebar-primary p.caption + ul .current");
  document.querySelectorAll(".bd-sidebar-primary p.caption").forEach((part, at) => {
    const pages = part.nextElementSibling;
    const button = document.createElement("button");
    const turn = shown => {
      pages.hidden = !shown;
      button.setAttribute("aria-expanded", shown);
    };
    button.type = "button";
    button.append(part.firstElementChild);
    part.append(button);
    button.addEventListener("click", () => turn(pages.hidden));
    turn(!!pages.querySelector(".current") || (away && at < 2));
  });
  // The graph of a paper opens at what failed, the gravest first.
  const grave = ['[aria-label*="guarantee broken"] .claim-node', ".claim-node.claim-refuted",
    ".claim-node.claim-false-repaired"];
  for (const map of document.querySelectorAll(".claim-map")) {
    const failed = grave.map(kind => map.querySelector(kind)).find(Boolean);
    if (failed) map.scrollLeft = failed.getBBox().x - map.clientWidth / 3;
  }
  // The logo leads home; it stands outside every landmark.
  const logo = document.querySelector(".sidebar-primary-item > .navbar-brand.logo")?.parentElement;
  logo?.setAttribute("role", "navigation");
  logo?.setAttribute("aria-label", "Home");

  // Paper with or without solutions: an entry beside "Print to PDF", or ?solutions=no for a script.
  const root = document.documentElement;
  const without = new URLSearchParams(location.search).get("solutions") === "no";
  root.classList.toggle("without-solutions", without);
  const print = document.querySelector(".btn-download-pdf-button");
  if (print && document.querySelector(".solution")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn btn-sm dropdown-item btn-print-without";
    button.textContent = "Print without solutions";
    button.addEventListener("click", () => {
      root.classList.add("without-solutions");
      window.print();
      root.classList.toggle("without-solutions", without);
    });
    const entry = document.createElement("li");
    entry.append(button);
    print.closest("li").after(entry);
  }

  // One switch for all folded code of a page, kept while the window is open; solutions stay closed.
  const folded = [...document.querySelectorAll("div.cell > details.hide")].filter(
    block => !block.closest(".solution"));
  const title = document.querySelector("article h1");
  if (folded.length && title) {
    const place = document.createElement("p");
    const button = place.appendChild(document.createElement("button"));
    const store = act => { try { return act(sessionStorage); } catch { return null; } };
    const turn = shown => {
      button.setAttribute("aria-pressed", shown);
      root.classList.toggle("code-folded", !shown);
      for (const block of folded) block.open = shown;
    };
    place.className = "code-switch";
    button.type = "button";
    button.textContent = "Show all code";
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") === "false";
      turn(shown);
      store(kept => kept.setItem("dpbook:code", shown));
    });
    turn(store(kept => kept.getItem("dpbook:code")) === "true");
    title.after(place);
  }

  // On a phone the details of a page, which are for a second reading, wait until they are asked for.
  for (const head of innerWidth < 600 ? document.querySelectorAll("article section > h2") : []) {
    if (!head.textContent.startsWith("Details")) continue;
    const part = head.parentElement;
    const button = head.appendChild(document.createElement("button"));
    const turn = shown => {
      part.classList.toggle("folded-part", !shown);
      button.textContent = shown ? "Hide" : "Show";
      button.setAttribute("aria-expanded", shown);
    };
    const wanted = () => part.contains(document.getElementById(decodeURIComponent(location.hash.slice(1))));
    button.type = "button";
    button.addEventListener("click", () => turn(part.classList.contains("folded-part")));
    addEventListener("hashchange", () => wanted() && turn(true));
    turn(wanted());
  }

  // A box to tick is named by what stands beside it.
  for (const box of document.querySelectorAll(".task-list-item-checkbox"))
    box.setAttribute("aria-label", box.parentElement.textContent.trim());

  // On a phone a figure opens alone, where two fingers make it larger.
  for (const image of document.querySelectorAll("article .cell_output img"))
    image.addEventListener("click", () => innerWidth < 600 && location.assign(image.src));

  // The button below the title saves the notebook instead of showing its text.
  for (const link of document.querySelectorAll('a[href$=".ipynb"]')) link.download = "";

  // What the theme's buttons do: its own attributes cannot run under the policy of the page.
  for (const button of document.querySelectorAll("[data-call]"))
    button.addEventListener("click", () => window[button.dataset.call]());

  // A table of many links, a graph, the bar, and the answers to a question are one stop of the Tab key
  // each: arrows lead from link to link, and in a table to other rows.
  const groups = "article table, article section:has(> .claim-map), #pst-page-toc-nav, .bd-links, .quiz";
  for (const table of document.querySelectorAll(groups)) {
    if (table.parentElement.closest("section:has(> .claim-map)")) continue;
    const links = "a[href], summary, p.caption button";
    const shown = part => [...part.querySelectorAll(links)].filter(link => link.checkVisibility());
    const rows = () => table.matches("table") ? [...table.rows].map(shown).filter(found => found.length)
      : shown(table).map(link => [link]);
    if (rows().flat().length < (table.matches(".quiz") ? 2 : 9)) continue;
    const enter = (link) => {
      for (const other of table.querySelectorAll(links)) other.tabIndex = -1;
      if (link) link.tabIndex = 0;
    };
    const renew = () => setTimeout(() => enter(table.querySelector("a.current") ?? rows()[0]?.[0]));
    table.addEventListener("keydown", event => {
      const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[
        event.key] ?? [];
      const all = rows();
      const row = all.findIndex(found => found.includes(event.target));
      const at = all[row]?.indexOf(event.target);
      const next = all[row + down]?.[Math.min(at + right, all[row + down].length - 1)];
      if (down === undefined || !next) return;
      event.preventDefault();
      enter(next);
      next.focus();
    });
    document.addEventListener("input", renew); // filters hide rows
    document.addEventListener("reset", renew);
    renew();
  }
  for (const copy of document.querySelectorAll(".copybtn")) copy.tabIndex = -1; // for the mouse

  // Boxes that scroll sideways are reached by the Tab key, and only while they scroll.
  const boxes = ".book-table, div.math, mjx-container[display], .claim-map, .cell_output .output, .bd-content pre, "
    + ".pst-scrollable-table-container, .bd-content table.indextable";
  const reach = () => {
    for (const box of document.querySelectorAll(boxes)) {
      const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight + 1;
      if (scrolls && /auto|scroll/.test(getComputedStyle(box).overflow)) box.tabIndex = 0;
      else if (box.hasAttribute("tabindex")) box.removeAttribute("tabindex");
    }
  };
  let timer;
  const soon = () => { clearTimeout(timer); timer = setTimeout(reach, 350); };
  addEventListener("resize", soon);
  addEventListener("load", soon);
  document.addEventListener("toggle", soon, true); // a folded block has no width until it opens
  window.MathJax?.startup?.promise?.then(soon);
  reach();
});
