// Builds `hone-server/client`, the part of the package that programs import, into `dist/client`: its code in one file, for any
// place that runs JavaScript, and its types.
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./setup.js";

const clientFolder = join(root, "dist", "client");

/** Users without an optional library still get the other types of the client. */
const optional = Object.keys(
  JSON.parse(readFileSync(join(root, "package.json"), "utf8")).peerDependenciesMeta,
).join("|");

await buildClient();

async function buildClient() {
  rmSync(clientFolder, { recursive: true, force: true });
  await build({
    absWorkingDir: root,
    entryPoints: [join("src", "apps", "client", "index.ts")],
    outfile: join(clientFolder, "index.js"),
    bundle: true,
    format: "esm",
    // Neutral platform: an import of a Node module fails here.
    platform: "neutral",
    target: "es2022",
    packages: "external",
    legalComments: "none",
    logLevel: "warning",
  });
  const { status } = spawnSync(
    process.execPath,
    [
      join(root, "node_modules", "typescript", "bin", "tsc"),
      "-p",
      join(root, "scripts", "client-types.json"),
    ],
    { cwd: root, stdio: ["ignore", "inherit", "inherit"] },
  );
  if (status !== 0) throw new Error("the client's types cannot be built");
  for (const name of readdirSync(clientFolder, { recursive: true }).filter((one) => one.endsWith(".d.ts")))
    mend(join(clientFolder, name));
}

/** tsc leaves imports in type files with the endings of the sources; every resolver knows the built ones. */
function mend(file) {
  const text = readFileSync(file, "utf8").replaceAll(/((?:from |import\()"\.[^"]*)\.ts"/g, '$1.js"');
  const ofPeers = new RegExp(`^import type .* from "(${optional})";$`, "gm");
  writeFileSync(file, text.replaceAll(ofPeers, "// @ts-ignore: any where it is not installed\n$&"));
}
