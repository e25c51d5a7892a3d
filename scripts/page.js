// Builds the dashboard, which the server serves at `/`. The script of src/apps/dashboard is bundled with its libraries
// and split at dynamic imports, so that the browser loads rarely used views only when they open. Each file's name
// contains a hash of its content, and each file is compressed in advance.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { build } from "esbuild";
import { writeCompressed } from "./compressed.js";
import { pageFolder, root } from "./setup.js";

const source = join(root, "src", "apps", "dashboard");
const { outputFiles, metafile } = await build({
  absWorkingDir: root,
  entryPoints: [join(source, "main.tsx"), join(source, "style.css")],
  outdir: pageFolder,
  entryNames: "assets/hone-[hash]",
  chunkNames: "assets/part-[hash]",
  bundle: true,
  splitting: true,
  metafile: true,
  minify: true,
  format: "esm",
  platform: "browser",
  target: ["chrome111", "firefox115", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  nodePaths: [join(root, "node_modules")],
  legalComments: "eof",
  charset: "utf8",
  write: false,
  logLevel: "warning",
});
rmSync(pageFolder, { recursive: true, force: true });
for (const { path, contents } of outputFiles) write(path, Buffer.from(contents));

/**
 * Returns the path of the file that was built from a source file. It compares names, because views that load later are
 * entry points, too.
 */
const builtFrom = (name) =>
  Object.entries(metafile.outputs).find(([, { entryPoint = "" }]) => basename(entryPoint) === name)[0];
const preloads = [...startParts(builtFrom("main.tsx"))]
  .map((path) => `<link rel="modulepreload" href="/assets/${basename(path)}" />\n    `)
  .join("");
const logo = readFileSync(join(source, "logo.svg")).toString("base64");
const page = readFileSync(join(source, "index.html"), "utf8")
  .replace("LOGO", `data:image/svg+xml;base64,${logo}`)
  .replace("STYLE", basename(builtFrom("style.css")))
  .replace("<!-- PARTS -->", preloads.trimEnd())
  .replace("SCRIPT", basename(builtFrom("main.tsx")));
write(join(pageFolder, "index.html"), Buffer.from(page));

/**
 * Returns the files that a file imports statically, directly or not. The page preloads them, so that all load at the
 * same time.
 */
function startParts(path, found = new Set()) {
  for (const { path: imported, kind } of metafile.outputs[path].imports)
    if (kind === "import-statement" && !found.has(imported)) {
      found.add(imported);
      startParts(imported, found);
    }
  return found;
}

function write(path, bytes) {
  mkdirSync(dirname(path), { recursive: true });
  writeCompressed(path, bytes);
}
