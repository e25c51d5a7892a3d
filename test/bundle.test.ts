// Tests the bundle that `hone` runs: its content and its stack traces.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { newDataFolder, removeDataFolder } from "./running-server.ts";

/** Returns the modules that the sources start as a process or thread. */
function startedModules(): readonly string[] {
  const files = readdirSync("src", { recursive: true }).map((name) => join("src", String(name)));
  const product = files.filter((name) => name.endsWith(".ts") && !/\.test\.|[\\/]testing[\\/]/.test(name));
  return product.flatMap((name) =>
    [...readFileSync(name, "utf8").matchAll(/new URL\(\s*"(\.[^"]+)"/g)].map(([, path]) =>
      basename(path, ".js"),
    ),
  );
}

test("the stack trace of an unexpected error refers to lines of the sources", (t) => {
  const data = newDataFolder();
  t.after(() => removeDataFolder(data));
  const fault = `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const { writeFileSync } = fs;
    fs.writeFileSync = (path, ...rest) => (path.endsWith("task.js") ? null.odd : writeFileSync(path, ...rest));
    syncBuiltinESMExports();`;
  const flags = ["--import", `data:text/javascript,${encodeURIComponent(fault)}`];
  const { status, stderr } = spawnSync(
    process.execPath,
    [...flags, "bin/hone.js", "init", join(data, "new")],
    {
      encoding: "utf8",
    },
  );
  assert.equal(status, 1);
  const [, file = "", line = ""] = /at writeStarter \((.+):(\d+):\d+\)/.exec(stderr) ?? [];
  assert.ok(file.endsWith(join("src", "apps", "cli", "commands", "init.ts")), stderr);
  assert.match(readFileSync(file, "utf8").split("\n")[Number(line) - 1], /writeFileSync\(join\(folder/);
});

test("contains an entry for every module that is started as a process or thread", () => {
  const started = startedModules();
  assert.ok(started.length > 8);
  assert.deepEqual(
    started.filter((name) => !existsSync(join("dist", "bundle", `${name}.cjs`))),
    [],
  );
});

// V8 forgets how to import modules dynamically if it reads stored functions, so `import()` would fail at the second start.
test("no part of the bundle imports modules dynamically without the loader of parts", () => {
  const folder = join("dist", "bundle");
  const parts = readdirSync(folder).filter((name) => /^part-.*\.js$/.test(name));
  const texts = parts.map((name) => readFileSync(join(folder, name), "utf8"));
  assert.ok(texts.some((text) => text.includes("importPart(")));
  // A method of the name `import` has a body after its parameters.
  const found = texts.flatMap((text) => [...text.matchAll(/(?<![\w$.#])import\((?![^()]*\)\{).{0,60}/g)]);
  assert.deepEqual(
    found.map(([each]) => each),
    [],
  );
});

test("a set-up checkout contains the client that dependent projects import", async () => {
  const name = "hone-server/client";
  const client = (await import(name)) as Readonly<Record<string, unknown>>;
  assert.deepEqual([typeof client["Hone"], typeof client["train"]], ["function", "function"]);
  assert.ok(existsSync(join("dist", "client", "index.d.ts")));
});

test("the bundle contains the licences of its libraries", () => {
  const licences = readFileSync(join("dist", "bundle", "licences.txt"), "utf8");
  for (const text of ["fastify 5", "typebox 1", "kysely 0", "Copyright (c) 2016-present The Fastify Team"])
    assert.ok(licences.toLowerCase().includes(text.toLowerCase()), text);
});
