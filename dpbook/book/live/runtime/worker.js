// Runs pages of the book in a worker: loads CPython for WebAssembly from this site, once.
const started = performance.now();
let python = null;

const tell = (message) => postMessage(message);
self.tellPage = (json) => tell(JSON.parse(json));

// A file of this book, if it is the one that a digest names.
async function bytes(path, integrity = "") {
  const asked = fetch(new URL(path, import.meta.url), { integrity });
  const answer = await asked.catch(() => {
    throw new Error(`${path} cannot be had, or is not the file that belongs to this book`);
  });
  if (!answer.ok) throw new Error(`${path} is not there (${answer.status})`);
  return new Uint8Array(await answer.arrayBuffer());
}

// Packages are compared with the hashes of the lock; one that differs is only told to the console.
function whole(made, packages) {
  const missing = packages.find((name) => !(name in made.loadedPackages));
  if (missing) throw new Error(`${missing} is not the file that belongs to this book`);
}

async function start({ packages, integrity }) {
  tell({ kind: "stage", words: "loading Python" });
  const { loadPyodide } = await import("./runtime/pyodide.js");
  const files = await bytes("./runtime/dpbook.zip", integrity["runtime/dpbook.zip"]);
  const made = await loadPyodide({
    indexURL: new URL("./runtime/", import.meta.url).href,
    packages,
    args: ["-OO"], // no docstrings: some libraries put theirs together at import
    env: { MPLBACKEND: "svg", MPLCONFIGDIR: "/tmp/matplotlib", HOME: "/home/pyodide" },
  });
  whole(made, packages);
  tell({ kind: "stage", words: "importing" });
  made.unpackArchive(files, "zip");
  made.runPython(`
import json, sys
from js import tellPage
sys.path.insert(0, "/home/pyodide")
from dpbook.book.live import browser
screen = browser.Screen()
browser.install(screen)
def tell(message):
    tellPage(json.dumps(message))
`);
  return made;
}

onmessage = async ({ data }) => {
  try {
    if (python === null) python = start(data);
    const made = await python;
    made.FS.mkdirTree("/home/pyodide/book");
    const page = data.page
      ? new TextDecoder().decode(await bytes(
        `./pages/${data.page}.json`, data.integrity[`pages/${data.page}.json`])) : "null";
    // The text of the page may be an old one from a cache.
    if (data.page && JSON.parse(page).version !== data.version) throw new Error("another build");
    made.globals.set("request_text", JSON.stringify(data));
    made.globals.set("page_text", page);
    made.runPython(`
page, request = json.loads(page_text), json.loads(request_text)
if page is not None:
    with open("/home/pyodide/book/ledger.json", "w", encoding="utf-8") as file:
        json.dump(page["ledger"], file)
`);
    tell({ kind: "started", seconds: (performance.now() - started) / 1000 });
    await made.runPythonAsync(`
if page is not None:
    browser.run_page(page, request["given"], screen, tell, request["long"])
else:
    browser.run_text(request["code"], request["solved"], screen, tell)
`);
    tell({ kind: "end" });
  } catch (error) {
    tell({ kind: "broken", why: String(error?.message ?? error).trim().split("\n").slice(-3).join("\n") });
  }
};
