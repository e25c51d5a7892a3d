// Writes src/apps/client/api.ts, the client's types of every body, answer and operation, from the schemas of the routes. It
// runs before tsc, which checks both sides; esbuild joins the sources that make the document, without looking at their types.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { root } from "./setup.js";

const target = join(root, "src", "apps", "client", "api.ts");
const made = join(root, "dist", "client-api.js");

mkdirSync(join(root, "dist"), { recursive: true });
await build({
  absWorkingDir: root,
  entryPoints: [join("test", "docs", "client-types.ts")],
  outfile: made,
  bundle: true,
  platform: "node",
  format: "esm",
  packages: "external",
  logLevel: "warning",
});
const { madeClientTypes } = await import(pathToFileURL(made).href);
const text = await madeClientTypes();
rmSync(made);
// An unchanged file keeps its time, so that nothing is built again because of it.
if (currentText() !== text) writeFileSync(target, text);

function currentText() {
  try {
    return readFileSync(target, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}
