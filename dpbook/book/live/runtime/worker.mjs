// Runs pages of the book in a worker: loads CPython for WebAssembly from this site, once.
import { loadPyodide } from "./runtime/pyodide.mjs";

const started = performance.now();
let python = null;

const tell = (message) => postMessage(message);
self.tellPage = (json) => tell(JSON.parse(json));

// A file of this book, if it is the one that a digest names.
async function bytes(path, integrity = "") {
  const asked = fetch(new URL(path, import.meta.url), { cache: "no-cache", integrity });
  const answer = await asked.catch(() => {
    throw new Error(`${path} cannot be had, or is not the file that belongs to this book`);
  });
  if (!answer.ok) throw new Error(`${path} is not there (${answer.status})`);
  return new Uint8Array(await answer.arrayBuffer());
}

// Bytecode of earlier runs of the same build, if the browser keeps it: importing then takes a third.
async function kept(build, content) {
  try {
    const store = await caches.open(`dpbook-${build}`);
    if (content) return await store.put("bytecode", new Response(content));
    for (const name of await caches.keys())
      if (name.startsWith("dpbook-") && name !== `dpbook-${build}`) await caches.delete(name);
    const found = await store.match("bytecode");
    return found && new Uint8Array(await found.arrayBuffer());
  } catch {
    return null; // no storage: slower, nothing else
  }
}

// Packages are compared with the hashes of the lock; one that differs is only told to the console.
function whole(made, packages) {
  const missing = packages.find((name) => !(name in made.loadedPackages));
  if (missing) throw new Error(`${missing} is not the file that belongs to this book`);
}

async function add(made, packages) {
  tell({ kind: "stage", words: `loading ${packages.join(", ")}` });
  await made.loadPackage(packages);
  whole(made, packages);
  made.runPython("import importlib; importlib.invalidate_caches()");
}

async function start(packages, build, integrity) {
  tell({ kind: "stage", words: "loading Python" });
  const files = await bytes("./runtime/dpbook.zip", integrity["runtime/dpbook.zip"]);
  const bytecode = kept(build);
  const made = await loadPyodide({
    indexURL: new URL("./runtime/", import.meta.url).href,
    packages,
    args: ["-OO"], // no docstrings: some libraries put theirs together at import
    env: { MPLBACKEND: "svg", MPLCONFIGDIR: "/tmp/matplotlib", HOME: "/home/pyodide" },
  });
  whole(made, packages);
  tell({ kind: "stage", words: "importing" });
  made.unpackArchive(files, "zip");
  if (await bytecode) made.unpackArchive(await bytecode, "zip", { extractDir: "/" });
  made.runPython(`
import json, sys
sys.dont_write_bytecode = False
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
    const { build, integrity } = JSON.parse(new TextDecoder().decode(await bytes("./build.json")));
    if (build !== data.build) throw new Error("another build");
    if (python === null) python = start(data.packages, build, integrity);
    const made = await python;
    const absent = data.packages.filter((name) => !(name in made.loadedPackages));
    if (absent.length) await add(made, absent); // an editor came first, and needed less
    made.FS.mkdirTree("/home/pyodide/book");
    const page = data.page
      ? new TextDecoder().decode(await bytes(
        `./pages/${data.page}.json`, integrity[`pages/${data.page}.json`])) : "null";
    made.globals.set("request_text", JSON.stringify(data));
    made.globals.set("page_text", page);
    made.runPython(`
page, request = json.loads(page_text), json.loads(request_text)
if page is not None:
    with open("/home/pyodide/book/ledger.json", "w", encoding="utf-8") as file:
        json.dump(page["ledger"], file)
`);
    tell({ kind: "started", seconds: (performance.now() - started) / 1000 });
    const run = `
missing = None
def tell_unless_missing(message):
    global missing
    if "named 'scipy'" in message.get("why", ""):
        missing = "scipy"
    else:
        tell(message)
if page is not None:
    out = request["leftOut"]
    browser.run_page(page, request["given"], screen, tell_unless_missing, out)
else:
    browser.run_text(request["code"], request["solved"], screen, tell_unless_missing)
missing`;
    let missing = await made.runPythonAsync(run);
    if (missing) {
      await add(made, [missing]);
      await made.runPythonAsync(run);
    }
    const archive = data.page && made.runPython( // not after what a reader has written
      'browser.packed_bytecode(["/home/pyodide", "/lib/python3.12/site-packages"])');
    if (archive) await kept(build, archive.toJs());
    tell({ kind: "end" });
  } catch (error) {
    tell({ kind: "broken", why: String(error?.message ?? error).trim().split("\n").slice(-3).join("\n") });
  }
};
