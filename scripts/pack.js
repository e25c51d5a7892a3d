// `npm run pack`: builds the npm package `hone-server` as a file in `dist`; works in a fresh clone too. It collects
// the package's files in a folder, which npm packs: built code with its libraries, the runtime for each platform,
// types, the built-in model, the dashboard, the guide and the starter project. docs/decisions/package.md has the
// reasons.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { place, placeBesideBundle, platforms, thisPlatform } from "./beside-bundle.js";
import { root, say, setUp } from "./setup.js";

const help = `usage: npm run pack -- [options]
Builds the npm package hone-server and prints the path of its file.

  --to <folder>      folder of the file (default: dist)
  --this-platform    include ONNX Runtime only for this platform, for a smaller test package
  --help`;

const { values } = parseArgs({
  options: {
    to: { type: "string", default: join(root, "dist") },
    "this-platform": { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}

setUp();
const packed = values["this-platform"] ? [thisPlatform] : platforms;
placeBesideBundle(packed);
const folder = join(root, "dist", "package");
rmSync(folder, { recursive: true, force: true });
const parts = [
  "README.md",
  "LICENSE",
  "bin",
  "dist/bundle",
  "dist/client",
  "dist/swagger-ui",
  "dist/onnxruntime/LICENSE",
  ...packed.map((platform) => `dist/onnxruntime/${platform}`),
  // The dashboard is omitted only if its sources do not exist. If they exist but were not built, packing fails.
  ...(existsSync(join(root, "src", "apps", "dashboard")) ? ["dist/dashboard"] : []),
  "dist/guide",
  "examples/starter",
  "models/hone-tiny",
];
for (const part of parts) placeAll(join(root, part), join(folder, part));
writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
console.log(pack());

function placeAll(from, to) {
  if (!existsSync(from)) throw new Error(`${from} is missing; the package must contain it.`);
  if (!statSync(from).isDirectory()) return place(from, to);
  for (const name of readdirSync(from)) placeAll(join(from, name), join(to, name));
}

/** Returns the package.json for users. Libraries inside the bundle are not dependencies. */
function manifest() {
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { name, version, description, keywords, license, type, bin, engines, exports } = own;
  return {
    name,
    version,
    description,
    keywords,
    license,
    type,
    bin,
    engines,
    exports,
    dependencies: { libsql: own.dependencies.libsql },
    peerDependencies: own.peerDependencies,
    peerDependenciesMeta: own.peerDependenciesMeta,
  };
}

/** Runs `npm pack` and returns the path of the package file. */
function pack() {
  mkdirSync(values.to, { recursive: true });
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const { status, stdout, error } = spawnSync(
    npm,
    ["pack", "--json", "--ignore-scripts", "--pack-destination", values.to, folder],
    {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
      shell: process.platform === "win32",
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  if (status !== 0) throw new Error(`npm pack failed${error ? `: ${error.message}` : ""}`);
  const [{ filename, size, unpackedSize, entryCount }] = JSON.parse(stdout);
  const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  say(`packed ${entryCount} files, ${megabytes(unpackedSize)}, as ${megabytes(size)}`);
  return join(values.to, filename);
}
