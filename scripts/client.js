// Builds `hone-server/client`, the part of the package that programs import, into `dist/client`: its code as one file
// for any JavaScript runtime, and its type declarations.
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./setup.js";

const clientFolder = join(root, "dist", "client");

/** Names of the optional libraries. Users who have not installed one of them can still use the client's other types. */
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
    // With the platform `neutral`, an import of a Node.js module is a build error.
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
  if (status !== 0) throw new Error("tsc cannot build the types of the client");
  for (const name of readdirSync(clientFolder, { recursive: true }).filter((one) => one.endsWith(".d.ts")))
    mend(join(clientFolder, name));
}

/**
 * Corrects a type declaration file. tsc leaves imports with the extension `.ts` of the sources, but resolvers look for
 * the built files.
 */
function mend(file) {
  const text = readFileSync(file, "utf8").replaceAll(/((?:from |import\()"\.[^"]*)\.ts"/g, '$1.js"');
  const ofPeers = new RegExp(`^import type .* from "(${optional})";$`, "gm");
  writeFileSync(file, text.replaceAll(ofPeers, "// @ts-ignore: any where it is not installed\n$&"));
}
