// Runs pages of the book in a worker: loads CPython for WebAssembly from this site, once.
import { loadPyodide } from "./runtime/pyodide.mjs";

const started = performance.now();
let python = null;

const tell = (message) => postMessage(message);
self.tellPage = (json) => tell(JSON.parse(json));

async function bytes(path) {
  const answer = await fetch(new URL(path, import.meta.url));
  if (!answer.ok) throw new Error(`${path} is not there (${answer.status})`);
  return new Uint8Array(await answer.arrayBuffer());
}

async function start(packages) {
  tell({ kind: "stage", words: "loading Python" });
  const files = bytes("./runtime/dpbook.zip");
  const made = await loadPyodide({
    indexURL: new URL("./runtime/", import.meta.url).href,
    packages,
    env: { MPLBACKEND: "svg", MPLCONFIGDIR: "/tmp/matplotlib", HOME: "/home/pyodide" },
  });
  tell({ kind: "stage", words: "importing" });
  made.unpackArchive(await files, "zip");
  made.runPython(`
import json, os, sys
from js import tellPage
sys.path.insert(0, "/home/pyodide")
from dpbook import browser
screen = browser.Screen()
browser.install(screen)
def tell(message):
    tellPage(json.dumps(message))
`);
  return made;
}

onmessage = async ({ data }) => {
  try {
    const build = JSON.parse(new TextDecoder().decode(await bytes("./build.json"))).build;
    if (data.build && build !== data.build) throw new Error("another build");
    if (python === null) python = start(data.packages);
    const made = await python;
    tell({ kind: "started", seconds: (performance.now() - started) / 1000 });
    made.FS.mkdirTree("/home/pyodide/book");
    if (data.page) {
      const page = new TextDecoder().decode(await bytes(`./pages/${data.page}.json`));
      made.globals.set("page_text", page);
    }
    made.globals.set("given_text", JSON.stringify(data.given ?? {}));
    made.globals.set("code", data.code ?? null);
    await made.runPythonAsync(`
page, given = json.loads(page_text), json.loads(given_text)
with open("/home/pyodide/book/ledger.json", "w", encoding="utf-8") as file:
    json.dump(page["ledger"], file)
if code is None:
    browser.run_page(page, given, screen, tell)
else:
    browser.run_text(code, screen, tell)
`);
    tell({ kind: "end" });
  } catch (error) {
    tell({ kind: "broken", why: String(error?.message ?? error).trim().split("\n").slice(-3).join("\n") });
  }
};
