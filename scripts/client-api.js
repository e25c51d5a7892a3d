// Writes src/apps/client/api.ts from the schemas of the routes: the client's types of each request body, response and
// operation. It runs before tsc, which checks both the server and the client against them. The script that generates
// the types is bundled by esbuild, which does not check types.
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
// An unchanged file is not written, because its new modification time would cause a build.
if (currentText() !== text) writeFileSync(target, text);

function currentText() {
  try {
    return readFileSync(target, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}
