// Builds the dashboard, which the server serves at `/`. Script and style of src/apps/dashboard are each bundled with
// their libraries into one file, whose name contains a hash of its content, and are compressed in advance.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { writeCompressed } from "./compressed.js";
import { pageFolder, root } from "./setup.js";

const source = join(root, "src", "apps", "dashboard");
const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: [join(source, "main.tsx"), join(source, "style.css")],
  outdir: pageFolder,
  bundle: true,
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
mkdirSync(join(pageFolder, "assets"), { recursive: true });
const names = Object.fromEntries(
  outputFiles.map(({ path, contents }) => {
    const ending = path.endsWith(".css") ? "css" : "js";
    const hash = createHash("sha256").update(contents).digest("hex").slice(0, 12);
    write(join("assets", `hone-${hash}.${ending}`), Buffer.from(contents));
    return [ending, `hone-${hash}.${ending}`];
  }),
);
const page = readFileSync(join(source, "index.html"), "utf8")
  .replace("STYLE", names.css)
  .replace("SCRIPT", names.js);
write("index.html", Buffer.from(page));

function write(name, bytes) {
  writeCompressed(join(pageFolder, name), bytes);
}
