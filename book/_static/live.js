// The panel that reruns a page: runs the page's cells in a worker and puts what they show in the
// place of what was published, until Restore. Nothing is loaded before the reader asks.
// One worker serves the panel and the editors of a page.
window.dpbookRun = (() => {
  let worker = null, own = false, hearing = null; // own: the worker has run the reader's text
  let runtime = null, asked = null, forbidden = "";
  let lacks = "This copy of the book was built without the runtime; make live adds it.";
  // What `make live` made: asked for anew, while all else may come from a cache, as its address
  // holds the build.
  const address = new URL("live.json", document.currentScript.src);
  const known = () => asked ??= location.protocol === "file:" ? Promise.resolve()
    : fetch(address, {cache: "no-cache"}).then(answer => answer.json())
      .then(told => { runtime = told; }, () => { lacks = "This server does not send live.json."; });
  const impossible = () => location.protocol === "file:"
    ? "Browsers do not run code on a page that was opened as a file. Serve the folder "
      + "(dpbook serve, or any web server) to run the page here."
    : !runtime ? lacks
      : typeof WebAssembly !== "object" || typeof Worker !== "function"
        ? "This browser has no WebAssembly or no workers, and a run here needs both." : "";
  const megabytes = () => Math.ceil(runtime.bytes / 1e6);
  const stop = () => { worker?.terminate(); worker = hearing = null; own = false; };
  // What is wrong, in a sentence.
  const words = why => /another build|404/.test(why)
    ? `The book was updated while this page was open, or lacks a file (${why}). Please load the page again.`
    : why === "replaced" ? "Another run on this page replaced this one."
    : why === "lost" ? "The run stopped without a word; the memory may have run out."
      : /memory/i.test(why) ? "The browser has no memory left for this run."
        : `The runtime could not be used (${why}).`;
  // A worker from a blob has the policy of the page, so that no code in it reaches another host; one
  // that came over http would have none.
  const begun = () => {
    const script = JSON.stringify(new URL(`../live/${runtime.build}/worker.js`, address).href);
    const text = `const early = [];
onmessage = ({data}) => early.push(data);
import(${script}).then(
  () => early.forEach(data => dispatchEvent(new MessageEvent("message", {data}))),
  () => fetch(${script}).then(
    answer => "this server sends worker.js as " + answer.headers.get("content-type") + ", " + answer.status,
    () => "worker.js cannot be had",
  ).then(why => postMessage({kind: "broken", why})));`;
    const blob = new Blob([text], {type: "text/javascript"});
    return new Worker(URL.createObjectURL(blob), {type: "module"});
  };
  // A host may have a policy of its own; that it forbids the worker is told by this event alone.
  document.addEventListener("securitypolicyviolation", ({blockedURI, originalPolicy}) => {
    if (blockedURI === "blob") forbidden = `this server's policy forbids workers: ${originalPolicy}`;
  });
  const send = (request, hear) => {
    const other = hearing;
    // What the reader's text has done to Python must not reach the checks of the page.
    if (other || (request.page && own)) stop();
    other?.({kind: "broken", why: "replaced"});
    try {
      worker ??= begun();
    } catch (error) {
      hear({kind: "broken", why: error.message});
      return;
    }
    own ||= !request.page;
    hearing = hear;
    worker.onerror = ({message}) => {
      stop();
      hear({kind: "broken", why: forbidden || message || "lost"});
    };
    worker.onmessage = ({data}) => {
      if (data.kind === "broken") stop();
      if (["done", "text", "refused", "failed"].includes(data.kind)) hearing = null;
      try { hear(data); } catch (error) { hear({kind: "broken", why: error.message}); }
      window.dispatchEvent(new CustomEvent("dpbook-live", {detail: data}));
    };
    worker.postMessage({...runtime, ...request});
  };
  // HTML of the reader's own text: in a frame without scripts, as tall as what it holds.
  const framed = html => {
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-same-origin"; // to be measured from here; scripts are not allowed
    frame.title = "What your text shows";
    const styles = [...document.querySelectorAll('link[rel="stylesheet"]')].map(one => one.outerHTML);
    const theme = document.documentElement.dataset.theme ?? "light";
    frame.srcdoc = `<!doctype html><html data-theme="${theme}"><meta charset="utf-8">${styles.join("")}
<body style="min-height: 0; display: flow-root"><div class="cell_output"><div class="output text_html">${html}`;
    frame.addEventListener("load", () => {
      const body = frame.contentDocument?.body;
      const fit = () => { frame.style.height = `${Math.ceil(body.getBoundingClientRect().height) + 2}px`; };
      if (body) new ResizeObserver(fit).observe(body);
    });
    return frame;
  };
  // What a cell shows, as the book shows it.
  const source = svg => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  const drawn = (output, mine) => {
    const made = document.createElement("div");
    if (output.svg !== undefined) {
      made.className = "output";
      const image = made.appendChild(document.createElement("img"));
      image.src = source(output.svg);
      image.alt = "A figure of your run that the published page does not have.";
    } else if (output.html !== undefined) {
      made.className = "output text_html";
      if (mine) made.append(framed(output.html));
      else made.innerHTML = output.html;
      window.dpbookSliders(made);
    } else {
      made.className = "output stream highlight-myst-ansi notranslate";
      const box = made.appendChild(document.createElement("div"));
      box.className = "highlight";
      box.appendChild(document.createElement("pre")).textContent = output.text;
    }
    return made;
  };
  return {drawn, impossible, known, megabytes, send, source, stop, words};
})();

document.addEventListener("DOMContentLoaded", () => {
  const panel = document.querySelector("details.live");
  if (!panel) return;
  const about = JSON.parse(panel.dataset.live);
  const form = panel.querySelector("form");
  const fields = [...form.querySelectorAll("[data-kind]")];
  const status = panel.querySelector(".live-status");
  const bar = panel.querySelector("progress");
  const clock = panel.querySelector(".live-clock");
  const button = name => panel.querySelector(`[data-do="${name}"]`);
  const short = button("short");
  const run = form.querySelector("[type=submit]");
  const article = document.querySelector("article");
  const byHand = (given = {}) => {
    const told = Object.entries(given).map(([name, value]) =>
      ` -p ${name} '${typeof value === "string" ? value : JSON.stringify(value)}'`).join("");
    return `To run it by hand: dpbook run ${about.page}${told}`;
  };
  let published = null, timer = 0;

  const say = words => { status.textContent = words; };
  const number = text => text.trim() && Number.isFinite(Number(text)) ? Number(text) : undefined;
  const types = {
    str: text => text, int: number, float: number,
    bool: text => ({true: true, false: false})[text.toLowerCase()],
  };
  const read = field => {
    const text = field.value.trim();
    if (!text) throw new Error(`${field.name} is empty`);
    const [, many, type] = /^(list of )?(\w+)$/.exec(field.dataset.kind);
    const split = () => type === "str" ? JSON.parse(text)
      : text.replace(/^\[|\]$/g, "").split(",").map(types[type]);
    try {
      const value = many ? split() : types[type](text);
      if ((many ? value : [value]).every(one => typeof one === (
        {str: "string", bool: "boolean"}[type] ?? "number"))) return value;
    } catch { /* no list in JSON: said below */ }
    throw new Error(`${field.name} = ${text} is not of the type ${field.dataset.kind}`);
  };
  const chosen = () => Object.fromEntries(
    fields.filter(field => field.value.trim() !== field.dataset.published)
      .map(field => [field.name, read(field)]));

  // What will be loaded is said before it is.
  dpbookRun.known().then(() => {
    const why = dpbookRun.impossible();
    panel.querySelector(".live-size").textContent = why ? `${why} ${byHand()}`
      : `The first run loads ${dpbookRun.megabytes()} MB from this site, and from nowhere else; `
        + "nothing that you enter leaves your computer.";
    run.disabled = Boolean(why);
  });

  const set = values => fields.forEach(field => {
    const value = values[field.name];
    field.value = value === undefined ? field.dataset.published
      : typeof value === "string" ? value : JSON.stringify(value);
  });
  panel.querySelectorAll("[data-set]").forEach(one => one.addEventListener("click", () => {
    const quick = one.dataset.set === "quick";
    set(quick ? about.quick : {});
    if (short) short.checked = quick;
    say(quick ? `Smaller sizes are chosen${short ? ", and the long studies are left out" : ""}.` : "");
  }));

  // Values in the address: #epsilon=0.25&n_items=6; held to the ranges like typed ones.
  const fromAddress = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    const known = fields.filter(field => given.has(field.name));
    if (!known.length) return;
    known.forEach(field => { field.value = given.get(field.name); });
    panel.open = true;
    say("The values from the address are filled in. Press Run to start.");
  };
  fromAddress();
  panel.open ||= location.hash === "#rerun-here";
  window.addEventListener("hashchange", fromAddress);

  const finish = () => {
    clearInterval(timer);
    run.disabled = false;
    button("stop").disabled = true;
    bar.hidden = true;
    clock.textContent = "";
  };
  const fail = (words, given) => {
    finish();
    say(`${words} The published page is unchanged. ${byHand(given)}`);
  };

  form.addEventListener("invalid", event => {
    say(`${event.target.name} = ${event.target.value}: ${event.target.validationMessage} Nothing was run.`);
    panel.open = true;
  }, true);

  form.addEventListener("submit", event => {
    event.preventDefault();
    let given;
    try { given = chosen(); } catch (error) {
      say(`A value cannot be read: ${error.message}. Nothing was run.`);
      return;
    }
    begin(given);
  });

  const begin = given => {
    const results = new Array(about.cells).fill(null);
    const long = short?.checked ? about.long : [];
    let at = -1, words = "";
    const began = performance.now();
    const seconds = () => ((performance.now() - began) / 1000).toFixed(0);
    // The clock is for the eye; what is read aloud are the stages and the end.
    const progress = () => {
      clock.textContent = at < 0 ? `${words || "loading"} … ${seconds()} s`
        : `cell ${at + 1} of ${about.cells}: ${words} … ${seconds()} s`;
    };
    clearInterval(timer);
    timer = setInterval(progress, 1000);
    run.disabled = true;
    button("stop").disabled = false;
    bar.hidden = false;
    bar.value = 0;
    const {page, version} = about;
    dpbookRun.send({page, version, given, long}, data => {
      if (data.kind === "stage") { words = data.words; say(words); progress(); }
      else if (data.kind === "begin") {
        if (at < 0) say("running the cells");
        [at, words] = [data.cell, data.words.slice(0, 60)];
        bar.value = at / about.cells;
        progress();
      } else if (data.kind === "cell") results[data.cell] = data;
      else if (data.kind === "refused") { finish(); say(`${data.why}.`); }
      else if (data.kind === "failed") fail(`Cell ${data.cell + 1} failed: ${data.why}.`, given);
      else if (data.kind === "done") {
        finish();
        const changed = show(results, data.glued, given);
        say(`Done in ${seconds()} s. ${changed} Restore brings the published page back.`);
      } else if (data.kind === "broken") fail(dpbookRun.words(data.why), given);
    });
  };
  button("stop").addEventListener("click", () => {
    dpbookRun.stop();
    finish();
    say("Stopped. The page is unchanged.");
  });

  // --- the page itself ---
  const hidden = new Set(about.hidden);
  const cellOf = number => article.querySelector(`div.cell.tag_code-${number}`);
  const mark = given => {
    const told = Object.entries(given).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
    return `your run: ${told.join(", ") || "as published"}`;
  };
  function show(results, glued, given) {
    restore();
    published = [];
    const keep = node => published.push([node, node.cloneNode(true)]);
    const label = mark(given);
    const changed = [];
    const words = node => node.textContent.replace(/\s+/g, " ").trim();
    results.forEach((result, number) => {
      const cell = hidden.has(number) ? null : cellOf(number);
      const place = cell?.querySelector(":scope > .cell_output, :scope > details > .cell_output");
      if (!place || (result && !result.moved)) return;
      const badge = document.createElement("p");
      badge.className = result ? "live-mark" : "live-mark left-out";
      badge.textContent = result ? label : "as published: your run left this out";
      if (!result) { keep(place); place.prepend(badge); return; }
      const figures = [...place.querySelectorAll("img")];
      const drawn = result.outputs.some(output => output.svg !== undefined);
      const told = result.outputs.filter(one => one.svg === undefined).map(one => dpbookRun.drawn(one));
      if (!drawn && words(place) === told.map(words).join(" ").trim()) return;
      keep(place);
      const made = result.outputs.map(output => {
        const figure = output.svg !== undefined && figures.shift();
        const control = output.html?.includes("data-moving") && cell.nextElementSibling?.querySelector(".cell_output");
        if (control) {
          keep(control);
          control.replaceChildren(dpbookRun.drawn(output));
          return "";
        }
        if (!figure) return relinked(dpbookRun.drawn(output), place);
        figure.src = dpbookRun.source(output.svg);
        return figure.closest("figure") || figure;
      });
      const name = place.querySelector(".caption-number, table caption, .claim-card strong");
      changed.push(name ? words(name) : "an output");
      place.replaceChildren(badge, ...made);
      place.classList.add("live-changed");
    });
    let numbers = 0;
    article.querySelectorAll(".pasted-text[data-glue]").forEach(span => {
      const told = glued[Number(span.dataset.glue)];
      if (told === null || told === span.textContent) return; // of a cell that was left out
      keep(span);
      numbers += 1;
      span.textContent = told;
      span.classList.add("live-changed");
      span.title = label;
    });
    const source = article.querySelector("div.cell.tag_parameters pre");
    if (source && Object.keys(given).length) {
      keep(source);
      source.textContent = source.textContent.replace(/^(\w+) = (.*?)(?=\s+#|$)/gm, (line, name) =>
        name in given ? `${name} = ${JSON.stringify(given[name])}` : line);
    }
    button("restore").disabled = false;
    const some = [...new Set(changed)];
    const list = some.slice(0, 6).join(", ") + (some.length > 6 ? " and others" : "");
    return changed.length || numbers
      ? `${changed.length} outputs and ${numbers} numbers in sentences changed${list && `: ${list}`}.`
      : "Nothing on the page changed.";
  }
  // The card of a run knows no addresses; the published card does.
  const relinked = (one, place) => {
    const name = one.querySelector(".claim-card strong");
    const link = place.querySelector(".claim-card strong a");
    if (name && link && link.textContent === name.textContent)
      name.replaceChildren(link.cloneNode(true));
    return one;
  };
  function restore() {
    for (const [node, before] of published || []) node.replaceWith(before);
    published = null;
    button("restore").disabled = true;
  }
  button("restore").addEventListener("click", () => {
    restore();
    say("The published page is back.");
  });
});

// Editors: the reader's own text, kept in this browser only.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll("[data-try]")) {
    const area = box.querySelector("textarea");
    const said = box.querySelector(".try-said");
    const button = name => box.querySelector(`[data-do="${name}"]`);
    const template = area.value;
    const key = `dpbook:${location.pathname}:${box.dataset.try}`;
    const store = act => { try { return act(localStorage); } catch { return null; } };
    area.value = store(kept => kept.getItem(key)) ?? template;
    area.addEventListener("input", () => store(kept => kept.setItem(key, area.value)));
    dpbookRun.known().then(() => {
      const why = dpbookRun.impossible();
      said.append(" ", why || `The first run loads ${dpbookRun.megabytes()} MB from this site.`);
      button("check").disabled = Boolean(why);
    });
    for (const name of ["template", "save"]) button(name).disabled = false;
    const finish = () => { button("check").disabled = false; button("stop").disabled = true; };
    const line = words => {
      const made = document.createElement("p");
      made.textContent = words;
      return made;
    };
    button("check").addEventListener("click", () => {
      button("check").disabled = true;
      button("stop").disabled = false;
      said.replaceChildren(line("running …"));
      const request = {code: area.value, solved: box.dataset.solved};
      dpbookRun.send(request, data => {
        if (data.kind === "stage") said.replaceChildren(line(`${data.words} …`));
        else if (data.kind === "broken") {
          finish();
          said.replaceChildren(line(dpbookRun.words(data.why)));
        } else if (data.kind === "text") {
          finish();
          const made = data.outputs.map(output => dpbookRun.drawn(output, true));
          if (data.why) made.push(line(data.why));
          if (data.solved === true) made.push(line("✓ Solved."));
          else if (data.solved !== undefined)
            made.push(line(`Not yet${data.solved ? `: ${data.solved}` : ""}.`));
          said.replaceChildren(...made);
        }
      });
    });
    button("stop").addEventListener("click", () => {
      dpbookRun.stop();
      finish();
      said.replaceChildren(line("Stopped."));
    });
    button("template").addEventListener("click", () => {
      area.value = template;
      store(kept => kept.removeItem(key));
    });
    button("save").addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([area.value], {type: "text/x-python"}));
      link.download = `${box.dataset.try}.py`;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }
});
