// Bundles the output of tsc, with its libraries: the `hone` command, and each process and thread that it starts.
// Starting a process then loads only a tenth as many files. The code is unchanged, except for a few expressions of
// libraries (`changedLibraries`); docs/decisions/bundle.md has the reasons.
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, posix } from "node:path";
import { build } from "esbuild";
import { placeBesideBundle } from "./beside-bundle.js";
import { writeParts } from "./bundle-parts.js";
import { bundleFolder, bundleStamp, compiledFolder, root } from "./setup.js";

const builtFolder = join(root, "dist", "src");
/**
 * Expressions of libraries, and their replacements. The first ones locate files, which are next to the bundle; the
 * others take a noticeable part of a start.
 */
const changedLibraries = [
  {
    module: /onnxruntime-node[\\/]dist[\\/]binding\.js$/,
    spelled: "`../bin/napi-v6/",
    replacement: "`${besideBundle}onnxruntime/",
  },
  {
    module: /swagger-ui[\\/]index\.js$/,
    spelled: "__dirname, './static/logo.svg'",
    replacement: "besideBundle, 'swagger-ui', 'logo.svg'",
  },
  {
    module: /swagger-ui[\\/]lib[\\/]routes\.js$/,
    spelled: "__dirname, '..', 'static'",
    replacement: "besideBundle, 'swagger-ui'",
  },
  // libSQL asks twice which C library this system has. The second time, it reads a file, which is faster than a report.
  {
    module: /@neon-rs[\\/]load[\\/]dist[\\/]index\.js$/,
    spelled: "process.report?.getReport()",
    replacement: "undefined",
  },
  // Fastify's router would compile a function for each part of a path.
  {
    module: /find-my-way[\\/]lib[\\/]node\.js$/,
    spelled: "new Function('path', 'i', `'use strict'\\nreturn ${lines.join(' && ')}`)",
    replacement: "(path, i) => path.startsWith(prefix, i)",
  },
];

/** Matches the expression by which source code names a module that it starts as a process or thread. */
const startedModule = /new URL\(\s*"(\.[^"]+\.js)",\s*import\.meta\.url\s*\)/g;

/** Matches the expression by which a worker imports the module of its tasks, which is an entry. */
const importOfEntry = /\bimport(?=\(__rewriteRelativeImportExtension\(start\.module\)\))/;

/**
 * Definition of `require` in the sources. It is removed, so that the bundle includes the modules that the sources
 * require.
 */
const requireOfSource = /^const require = createRequire\(import\.meta\.url\);$/m;

const entries = [...new Set(["apps/cli/main.js", ...startedModules()])].map((name) =>
  join(builtFolder, name),
);
const names = entries.map((entry) => basename(entry));
if (new Set(names).size < names.length)
  throw new Error(`two modules to bundle have the same name: ${names.join(", ")}`);
for (const folder of [bundleFolder, compiledFolder]) rmSync(folder, { recursive: true, force: true });
const { metafile, outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: entries,
  outdir: bundleFolder,
  entryNames: "part-[name]",
  chunkNames: "part-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  inject: [join(root, "scripts", "source-lines.js")],
  write: false,
  sourcemap: "external",
  sourcesContent: false,
  legalComments: "none",
  // Each start then reads a quarter fewer bytes. Names are not shortened, and stack traces are correct through the
  // source maps.
  minifyWhitespace: true,
  metafile: true,
  logLevel: "warning",
  plugins: [
    {
      name: "side-by-side",
      setup: (builder) => builder.onLoad({ filter: /[\\/]dist[\\/]src[\\/]/ }, sideBySide),
    },
    {
      name: "changed-libraries",
      setup: (builder) =>
        changedLibraries.forEach((change) =>
          builder.onLoad({ filter: change.module }, ({ path }) => withChange(path, change)),
        ),
    },
  ],
});
await writeParts(outputFiles, names);
placeBesideBundle();
writeFileSync(join(bundleFolder, "licences.txt"), licencesOf(Object.keys(metafile.inputs)));
writeFileSync(bundleStamp, "");

/**
 * Returns the modules that the product starts as processes or threads. Tests and their helpers are not searched,
 * because they start modules that are not part of the product.
 */
function startedModules() {
  const files = readdirSync(join(root, "src"), { recursive: true })
    .map((name) => String(name).replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".ts") && !/\.test\.ts$|\/(testing|contract)\//.test(name));
  return files.flatMap((name) => {
    const text = readFileSync(join(root, "src", name), "utf8");
    return [...text.matchAll(startedModule)].map(([, path]) => posix.join(posix.dirname(name), path));
  });
}

/**
 * Replaces the path of each module that code starts as a process or thread. All entry files are in one folder, so code
 * finds them in its own folder, whichever chunk the code is in.
 */
function sideBySide({ path }) {
  const text = readFileSync(path, "utf8");
  return {
    contents: text
      .replace(requireOfSource, "")
      .replaceAll(startedModule, (_, to) => `new URL("./${basename(to, ".js")}.cjs", import.meta.url)`)
      .replace(importOfEntry, "importPart"),
  };
}

function withChange(path, { spelled, replacement }) {
  const text = readFileSync(path, "utf8");
  if (!text.includes(spelled))
    throw new Error(`${path} does not contain ${spelled}. Update changedLibraries in scripts/bundle.js.`);
  return { contents: text.replace(spelled, () => replacement) };
}

/** Returns the licence texts of the packages that bundled files come from, as each package contains them. */
function licencesOf(files) {
  const folders = files.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []);
  const texts = [...new Set(folders)]
    .toSorted((one, other) => one.localeCompare(other))
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
      const kept = readdirSync(join(root, folder)).filter((file) =>
        /^(licen[cs]e|copying|notice)/i.test(file),
      );
      const text = kept.map((file) => readFileSync(join(root, folder, file), "utf8").trim()).join("\n\n");
      return `${name} ${version} (${license})\n\n${text}\n`;
    });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}
