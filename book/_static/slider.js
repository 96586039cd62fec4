// A range input over rows that the page holds: shows one, with bars for its numbers. The rows are in
// the page, so that it works from a file, too; a table below says the same.
window.dpbookSliders = (root) => root.querySelectorAll("[data-slider]").forEach((box) => {
  const { rows, shares } = JSON.parse(box.dataset.slider);
  const input = box.querySelector("input");
  const show = () => {
    const at = Number(input.value);
    const [over, ...texts] = rows[at];
    box.querySelector("output").textContent = over;
    input.setAttribute("aria-valuetext", over);
    box.querySelectorAll("dd").forEach((place, column) => {
      place.firstElementChild.textContent = texts[column];
      const share = shares[at][column];
      place.lastElementChild.style.width = share === null ? "0" : `${(60 * share).toFixed(1)}%`;
    });
  };
  input.addEventListener("input", show);
  show();
});
document.addEventListener("DOMContentLoaded", () => window.dpbookSliders(document));
