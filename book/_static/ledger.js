// Makes the ledger sortable: a button in every heading, by mouse and by keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.claims-ledger")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent.trim();
      heading.replaceChildren(button);
      heading.setAttribute("aria-sort", "none");
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
  }
});
