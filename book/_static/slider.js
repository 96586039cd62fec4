// Range inputs over what the page holds, so that they work from a file, too: rows with bars for their
// numbers, and figures that were drawn at several values.
window.dpbookSliders = (root) => {
  const control = (box, show) => {
    const input = box.querySelector("input");
    const move = () => {
      const said = show(Number(input.value));
      box.querySelector("output").textContent = said;
      input.setAttribute("aria-valuetext", said);
    };
    input.addEventListener("input", move);
    move();
  };
  root.querySelectorAll("[data-slider]").forEach((box) => {
    const { rows, shares, marks } = JSON.parse(box.dataset.slider);
    control(box, (at) => {
      const [over, ...texts] = rows[at];
      box.querySelectorAll("dd").forEach((place, column) => {
        const [share, mark] = [shares[at][column], marks[column]];
        place.firstElementChild.textContent = texts[column];
        place.classList.toggle("beyond", mark !== null && share > mark * (1 + 1e-9));
        place.lastElementChild.style.setProperty("--share", share ?? 0);
        place.lastElementChild.style.setProperty("--mark", mark ?? -1);
      });
      return over;
    });
  });
  root.querySelectorAll("[data-moving]").forEach((box) => {
    const { parts, frames, said } = JSON.parse(box.dataset.moving);
    let begun = false;
    control(box, (at) => {
      const made = [];
      for (let k = 0; k < frames[at].length; k += 2)
        made.push(...parts.slice(frames[at][k], frames[at][k] + frames[at][k + 1]));
      const cell = box.closest("div.cell");
      const image = cell?.querySelector("img") ?? cell?.previousElementSibling?.querySelector("img");
      if (begun && image)
        image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(made.join("<"))}`;
      begun = true;
      return said[at];
    });
  });
};
document.addEventListener("DOMContentLoaded", () => window.dpbookSliders(document));
