// A button on every card whose claim has a certificate, and one for all of them where a page has
// the place "*". The program beside the certificates is loaded when the reader asks.
document.addEventListener("DOMContentLoaded", () => {
  const folder = new URL("../downloads/proofs/", location.href).href;
  const fetched = async name => {
    const response = await fetch(folder + name);
    if (!response.ok) throw new Error(`this copy of the book has no ${name} in downloads/proofs`);
    return response.text();
  };
  let loading = null; // the program, and the records of all claims
  const load = async () => {
    if (location.protocol === "file:")
      throw new Error("browsers load no program on a page that was opened as a file, so open the book from "
        + "a web server (dpbook serve, or any other)");
    if (!globalThis.crypto?.subtle) throw new Error("browsers compute a SHA-256 only on pages that came over https");
    const program = await import(`${folder}verify_certificate.mjs`);
    return [program, program.readRecords(await fetched("claims.json"))];
  };
  const grouped = number => number.toLocaleString("en").replaceAll(",", "\u202f");
  const count = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
  const compared = ({ kind, mechanism, relation, size, datasets, outcomes, pairs, found }) => {
    if (kind === "balls")
      return `It computed ${count(found.numbers, "number")} again in ${count(found.steps, "step")}, with every `
        + "interval rounded outward: the bounds are right.";
    const sizes = Object.entries(size).map(([name, value]) => `${name} = ${value}`).join(", ");
    return `Mechanism: ${mechanism}; relation: ${relation}; size: ${sizes}. It compared `
      + `${count(datasets.length, "data set")} in ${count(pairs.length, "pair")}, at ${count(outcomes.length, "outcome")}: `
      + `all ${grouped(found.inequalities)} inequalities hold for every ε ≥ 0, and `
      + `${grouped(found.equalities)} of them are equalities for every ε.`;
  };
  const forged = text => { // one digit of what is proved becomes another
    const [proof] = text.match(/"laws": .*?\]\]\]|"numbers": .*/s);
    const from = text.indexOf(proof);
    const digits = [...text.matchAll(/\d/g)].filter(one => one.index > from && one.index < from + proof.length);
    const { 0: digit, index } = digits[Math.floor(Math.random() * digits.length)];
    const other = Number(digit) % 9 + 1; // not 0, with which no number may begin
    return [text.slice(0, index) + other + text.slice(index + 1), `Digit ${digit} became ${other}. `];
  };
  const says = error => error.message.replace(/ \(.*\)$/, "");
  // Whether a certificate is accepted, and the words.
  const check = async ([program, records], name, change) => {
    const begun = performance.now();
    let [text, words] = [await fetched(`certificates/${name}.json`), ""];
    if (change) [text, words] = forged(text);
    try {
      const what = compared(await program.verify(records, name, text));
      const time = Math.ceil(performance.now() - begun);
      return [true, `Your browser accepted ${count(text.length, "byte")} after ${time} ms. ${what}`];
    } catch (error) {
      if (!change) return [false, `Refused: ${says(error)}.`];
      const certificate = await program.digest(program.read(text));
      const renamed = records.map(one => one.id === name ? { ...one, certificate } : one);
      const then = await program.verify(renamed, name, text).then(
        () => "accepted, because what it says now is true as well", other => `refused: ${says(other)}`);
      return [false, `${words}Refused: ${says(error)}. If the record named it, it would be ${then}.`];
    }
  };

  for (const place of document.querySelectorAll("[data-certificate]")) {
    const name = place.dataset.certificate;
    const box = document.createElement("div");
    box.className = "check-here";
    box.innerHTML = `<p><button type="button">Check ${name === "*" ? "all" : "it"} here<span
class="visually-hidden"> (${name === "*" ? "certificates" : name})</span></button>
<label><input type="checkbox"> change one digit first</label></p><p role="status"></p>
<details hidden><summary>Each certificate</summary><ul></ul></details>`;
    place.insertBefore(box, place.querySelector("details"));
  }
  // On the document, since what a run of the page replaces comes back as a copy.
  document.addEventListener("click", async event => {
    const box = event.target.closest(".check-here button")?.closest(".check-here");
    if (!box) return;
    const [status, list] = [box.querySelector("[role=status]"), box.querySelector("ul")];
    const [name, change] = [box.parentElement.dataset.certificate, box.querySelector("input").checked];
    list.replaceChildren();
    status.textContent = "Checking …";
    try {
      const loaded = await (loading ??= load());
      if (name !== "*") {
        [, status.textContent] = await check(loaded, name, change);
        return;
      }
      const [names, begun, refused] = [loaded[0].asked(loaded[1]), performance.now(), []];
      const unlucky = change && names[Math.floor(Math.random() * names.length)];
      for (const one of names) {
        const [accepted, words] = await check(loaded, one, one === unlucky);
        list.appendChild(document.createElement("li")).textContent = `${one}: ${words}`;
        if (!accepted) refused.push(`${one}: ${words}`);
      }
      box.querySelector("details").hidden = false;
      const time = Math.ceil(performance.now() - begun);
      const sum = `Your browser accepted ${names.length - refused.length} of ${count(names.length, "certificate")}`;
      status.textContent = [`${sum} after ${time} ms.`, ...refused].join(" ");
    } catch (error) {
      loading = null;
      status.textContent = `The check could not run: ${error.message}.`;
    }
  });
});
