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

  // The button below the title saves the notebook instead of showing its text.
  for (const link of document.querySelectorAll('a[href$=".ipynb"]')) link.download = "";

  // What the theme's buttons do: its own attributes cannot run under the policy of the page.
  for (const button of document.querySelectorAll("[data-call]"))
    button.addEventListener("click", () => window[button.dataset.call]());

  // Boxes that scroll sideways are reached by the Tab key, and only while they scroll.
  const boxes = ".book-table, div.math, .cell_output .output, .bd-content pre, "
    + ".pst-scrollable-table-container, .bd-content table.indextable";
  const reach = () => {
    for (const box of document.querySelectorAll(boxes)) {
      const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
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
