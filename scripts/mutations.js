// `npm run mutations`: applies one mutation at a time to the built code, runs the test file that must detect it, and
// reports mutations that survive, with exit status 1.
//
// * A mutation replaces a text in one file of dist/, and is always undone; sources are never changed.
// * Names after `--` select mutations.
// * `npm run mutations -- --sample` mutates sources at random places instead (test/mutations/sample.ts).
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, setUp } from "./setup.js";

/** Named mutations, each with the test file that must detect it. Paths are relative to dist/ and have no extension. */
const mutations = JSON.parse(readFileSync(join(root, "scripts", "mutations.json"), "utf8"));

const wanted = process.argv.slice(2);
if (wanted.includes("--sample")) {
  setUp();
  const flags = wanted.filter((flag) => flag !== "--sample");
  const script = join(root, "dist", "test", "mutations", "sample.js");
  process.exit(spawnSync(process.execPath, [script, ...flags], { cwd: root, stdio: "inherit" }).status ?? 1);
}
if (wanted.includes("--help")) {
  const usages = ["[-- name ...]", "-- --sample [--help] [options]"];
  process.stdout.write(usages.map((usage) => `Usage: npm run mutations ${usage}\n`).join(""));
  process.stdout.write(`\n${mutations.map(({ name }) => `  ${name}`).join("\n")}\n`);
  process.exit(0);
}
setUp();
// An interrupt must end only the running test file, so that this process can undo the mutation before it exits.
process.on("SIGINT", () => undefined);
const chosen = mutations.filter(
  ({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
);
let caughtCount = 0;
for (const mutation of chosen) {
  const outcome = outcomeOf(mutation);
  process.stdout.write(`${outcome.padEnd(14)} ${mutation.name}\n`);
  if (outcome === "interrupted") break;
  if (outcome === "caught") caughtCount += 1;
}
process.stdout.write(`${caughtCount} of ${chosen.length} mutations were caught\n`);
process.exit(caughtCount === chosen.length && chosen.length > 0 ? 0 : 1);

function outcomeOf({ file, find, replace, suite }) {
  const path = join(root, "dist", `${file}.js`);
  const original = readFileSync(path, "utf8");
  if (original.split(find).length !== 2) return "does not apply";
  try {
    writeFileSync(
      path,
      original.replace(find, () => replace),
    );
    const { status, signal } = spawnSync(
      process.execPath,
      ["--test", "--test-timeout=120000", join("dist", `${suite}.js`)],
      { cwd: root, stdio: "ignore" },
    );
    if (signal === "SIGINT") return "interrupted";
    return status === 0 ? "survived" : "caught";
  } finally {
    writeFileSync(path, original);
  }
}
