// Beside what a certificate proves, a button: the program that lies beside the certificates is
// loaded when the reader asks, and says what it compared. A place for all of them is "*".
document.addEventListener("DOMContentLoaded", () => {
  const folder = new URL("../downloads/proofs/", location.href).href;
  const fetched = async name => {
    const response = await fetch(folder + name);
    if (!response.ok) throw new Error(`this copy of the book has no ${name} in downloads/proofs`);
    return response.text();
  };
  const impossible = () => location.protocol === "file:"
    ? "Browsers load no program on a page that was opened as a file: to check here, open the book "
      + "from a web server (dpbook serve, or any other)."
    : globalThis.crypto?.subtle ? "" : "Browsers compute a SHA-256 only on pages that came over https.";
  let loading = null; // the program, and the records of all claims
  const load = async () => {
    const program = await import(`${folder}verify_certificate.mjs`);
    return [program, program.readRecords(await fetched("claims.json"))];
  };

  const grouped = number => Number(number).toLocaleString("en").replaceAll(",", "\u202f");
  const count = (number, noun) => `${grouped(number)} ${noun}${Number(number) === 1 ? "" : "s"}`;
  const compared = ({ kind, mechanism, relation, size, datasets, outcomes, pairs, found }) => {
    if (kind === "balls")
      return `${count(found.numbers, "number")} computed again, with outward rounding, in `
        + `${count(found.steps, "step")}: the bounds of the record hold.`;
    const sizes = Object.entries(size).map(([name, value]) => `, ${name} = ${value}`).join("");
    return `Mechanism: ${mechanism}; relation: ${relation}${sizes}. For ${count(datasets.length, "data set")} `
      + `and ${count(outcomes.length, "outcome")}, ${count(pairs.length, "pair")} of data sets give `
      + `${grouped(found.inequalities)} inequalities; all hold for every ε ≥ 0, and `
      + `${grouped(found.equalities)} of them are equalities for every ε.`;
  };
  const forged = text => { // one digit of what is proved becomes another
    const from = text.search(/"(laws|numbers)": /);
    const digits = [...text.matchAll(/\d/g)].filter(one => one.index > from);
    const { 0: digit, index } = digits[Math.floor(Math.random() * digits.length)];
    const other = Number(digit) % 9 + 1; // not 0, which a number may not begin with
    return [text.slice(0, index) + other + text.slice(index + 1),
      `The digit ${digit} at place ${grouped(index + 1)} of the file became ${other}. `];
  };
  // Whether a certificate is accepted, and the words.
  const check = async ([program, records], name, change) => {
    const begun = performance.now();
    let [text, words] = [await fetched(`certificates/${name}.json`), ""];
    if (change) [text, words] = forged(text);
    try {
      const what = compared(await program.verify(records, name, text));
      const time = Math.ceil(performance.now() - begun);
      return [true, `Accepted by your browser after ${time} ms. ${what} The file has ${count(text.length, "byte")}.`];
    } catch (error) {
      words += `Refused: ${error.message}.`;
      if (!change) return [false, words];
      const certificate = await program.digest(program.read(text));
      const renamed = records.map(one => one.id === name ? { ...one, certificate } : one);
      return [false, await program.verify(renamed, name, text).then(
        () => `${words} What it says now is true as well, so only the digest in the record tells.`,
        other => `${words} A record that names the changed file would not help: ${other.message}.`)];
    }
  };
  const checkAll = async (loaded, change) => {
    const [begun, names] = [performance.now(), loaded[0].asked(loaded[1])];
    const unlucky = change && names[Math.floor(Math.random() * names.length)];
    const found = [];
    for (const name of names) found.push([name, ...await check(loaded, name, name === unlucky)]);
    const time = ((performance.now() - begun) / 1000).toFixed(1);
    const lines = found.map(([name, accepted, words]) => [accepted, `${name}: ${words}`]);
    const refused = lines.filter(([accepted]) => !accepted).map(([, words]) => words);
    const sum = `${found.length - refused.length} of ${count(found.length, "certificate")} accepted by your browser after ${time} s.`;
    return [[sum, ...refused].join(" "), lines.map(([, words]) => words)];
  };

  for (const place of document.querySelectorAll("[data-certificate]")) {
    const name = place.dataset.certificate;
    const box = document.createElement("div");
    box.className = "check-here";
    box.innerHTML = `<p><button type="button">Check ${name === "*" ? "all" : "it"} here<span
class="visually-hidden"></span></button> <label><input type="checkbox"> change one digit first</label></p>
<p role="status"></p>`;
    box.querySelector("span").textContent = name === "*" ? "" : `: ${name}`;
    place.insertBefore(box, place.querySelector("details"));
  }
  // On the document, since what a run of the page replaces comes back as a copy.
  document.addEventListener("click", async event => {
    const box = event.target.closest(".check-here button")?.closest(".check-here");
    if (!box) return;
    const name = box.closest("[data-certificate]").dataset.certificate;
    const [status, change] = [box.querySelector("[role=status]"), box.querySelector("input").checked];
    box.querySelector("details")?.remove();
    status.textContent = impossible() || "Checking …";
    if (impossible()) return;
    try {
      const loaded = await (loading ??= load());
      if (name !== "*") [, status.textContent] = await check(loaded, name, change);
      else {
        const [words, lines] = await checkAll(loaded, change);
        status.textContent = words;
        status.insertAdjacentHTML("afterend", "<details><summary>Each certificate</summary><ul></ul></details>");
        for (const line of lines)
          box.querySelector("ul").appendChild(document.createElement("li")).textContent = line;
      }
    } catch (error) {
      loading = null;
      status.textContent = `The check could not run: ${error.message}.`;
    }
  });
});
