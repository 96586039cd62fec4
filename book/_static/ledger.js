// The ledger and the errata: sorting by a heading, and filters whose state stands in the address.
document.addEventListener("DOMContentLoaded", () => {
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  for (const table of document.querySelectorAll("table.claims-ledger")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const words = heading.textContent.trim();
      const button = make("button", { type: "button", textContent: words });
      heading.replaceChildren(button);
      heading.setAttribute("aria-sort", "none");
      // On a phone a row is a card, and each of its cells says what it is.
      for (const row of table.tBodies[0].rows) row.cells[column].dataset.label = words;
      button.addEventListener("click", () => {
        const ascending = heading.getAttribute("aria-sort") !== "ascending";
        headings.forEach((other) => other.setAttribute("aria-sort", "none"));
        heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        const text = (row) => row.cells[column].textContent.trim();
        const body = table.tBodies[0];
        const rows = [...body.rows].sort((a, b) =>
          text(a).localeCompare(text(b), "en", { numeric: true }));
        body.append(...(ascending ? rows : rows.reverse()));
      });
    });
    // Cards are no boxes of a table to a browser; the roles keep them one for a screen reader.
    table.setAttribute("role", "table");
    for (const group of [table.tHead, ...table.tBodies]) {
      group.setAttribute("role", "rowgroup");
      for (const row of group.rows) {
        row.setAttribute("role", "row");
        for (const cell of row.cells) {
          const kinds = { col: "columnheader", row: "rowheader" };
          cell.setAttribute("role", kinds[cell.scope] || "cell");
        }
      }
    }
  }

  // A row of the ledger, or a section of the errata, says of what kind it is.
  const items = [...document.querySelectorAll("[data-claim]")].map((facts) => ({
    facts: facts.dataset,
    box: facts.closest("table.claims-ledger tr") || facts.closest("section"),
  })).filter((item) => item.box);
  if (!items.length) return;
  const FACETS = {
    paper: "Paper", verdict: "Verdict", severity: "Severity", kind: "Kind", evidence: "Evidence",
  };
  for (const item of items) item.text = item.box.textContent.replace(/\s+/g, " ").toLowerCase();

  const fields = {};
  const form = make("form", { className: "claim-filters" });
  form.setAttribute("aria-label", "Filter the claims");
  form.setAttribute("role", "search");
  for (const [facet, words] of Object.entries(FACETS)) {
    const labels = new Map();
    for (const { facts } of items)
      for (const fact of (facts[facet] || "").split("|"))
        if (fact) labels.set(fact, facts[`${facet}Words`] || fact);
    if (labels.size < 2) continue;
    const options = [...labels].map(([value, text]) => make("option", { value, textContent: text }));
    fields[facet] = make("select", { name: facet },
      make("option", { value: "", textContent: "any" }), ...options);
    form.append(make("label", {}, make("span", { textContent: words }), fields[facet]));
  }
  fields.text = make("input", { type: "search", name: "text", autocomplete: "off" });
  form.append(make("label", {}, make("span", { textContent: "Text" }), fields.text));
  form.append(make("button", { type: "reset", textContent: "Show all" }));
  const count = make("p", { className: "claim-count" });
  count.setAttribute("role", "status");
  count.setAttribute("aria-live", "polite");
  form.append(count);
  const table = items[0].box.closest("table");
  const place = table?.closest(".pst-scrollable-table-container") || table
    || items[0].box.parentElement.closest("section > section");
  place.before(form);

  const groups = new Set(items.filter((item) => item.box.matches("section"))
    .map((item) => item.box.parentElement));
  const show = () => {
    const words = fields.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { facts, text, box } of items) {
      const fits = Object.keys(FACETS).every((facet) =>
        !fields[facet]?.value || facts[facet]?.split("|").includes(fields[facet].value))
        && words.every((word) => text.includes(word));
      box.hidden = !fits;
      shown += fits;
      const link = box.id && document.querySelector(`.bd-toc a[href="#${CSS.escape(box.id)}"]`);
      if (link) link.closest("li").hidden = !fits;
    }
    for (const group of groups)
      group.hidden = [...group.querySelectorAll(":scope > section")].every((box) => box.hidden);
    count.textContent = `${shown} of ${items.length} claims`;
  };
  const read = () => {
    const asked = new URLSearchParams(location.search);
    for (const [name, field] of Object.entries(fields)) {
      field.value = asked.get(name) || "";
      if (field.value !== (asked.get(name) || "")) field.value = ""; // no such option
    }
    show();
    // Whoever comes for one claim sees it, whatever the filters say.
    const wanted = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const row = items.find((item) => wanted && item.box.contains(wanted));
    if (row?.box.hidden) {
      form.reset();
      show();
    }
    if (row) wanted.scrollIntoView();
  };
  const write = () => {
    const asked = new URLSearchParams();
    for (const [name, field] of Object.entries(fields))
      if (field.value.trim()) asked.set(name, field.value.trim());
    const query = asked.size ? `?${asked}` : "";
    history.replaceState(null, "", location.pathname + query + location.hash);
    show();
  };
  form.addEventListener("input", write);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(write)); // after the fields are empty
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
  read();
});
