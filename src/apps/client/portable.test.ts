// Checks that the client needs only web APIs: it compiles with browser types, and runs without Node's globals.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { fakeServer, keys } from "../../api/http/testing/fake-server.ts";
import type { Hone } from "./hone.ts";
import { fetchFrom } from "./testing/fake-fetch.ts";

/** Globals that all supported platforms have: browsers, workers, Deno, Bun and edge runtimes. */
const webGlobals = {
  AbortController,
  AbortSignal,
  Blob,
  clearTimeout,
  crypto,
  DOMException,
  FormData,
  Headers,
  performance,
  ReadableStream,
  Response,
  setTimeout,
  TextDecoder,
  URL,
  btoa,
};

test("is one module without imports that runs with only the web platform's globals", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: ["src/apps/client/index.ts"],
    bundle: true,
    platform: "neutral",
    format: "iife",
    globalName: "client",
    packages: "external",
    metafile: true,
    write: false,
  });
  const imported = Object.values(metafile.inputs).flatMap(({ imports }) => imports);
  const external = imported.filter((one) => one.external === true && one.kind !== "dynamic-import");
  assert.deepEqual(
    external.map(({ path }) => path),
    [],
  );
  assert.deepEqual(
    imported.filter(({ path }) => path.startsWith("node:")),
    [],
  );
  const server = await fakeServer();
  const context = createContext({ ...webGlobals, fetch: fetchFrom(server) });
  const script = `${outputFiles[0]?.text};\nnew client.Hone({ baseUrl: "http://host", apiKey: "${keys.member}" });`;
  // Safe cast: the script's last expression evaluates to a client.
  const hone = runInContext(script, context) as Hone;
  let text = "";
  for await (const { choices } of hone.chat.stream({ messages: [{ role: "user", content: "Hi" }] }))
    text += choices[0]?.delta.content ?? "";
  assert.equal(text, "Hello");
  const model = await hone.model("p/m", { base: "tiny" });
  const names: string[] = [];
  for await (const { name } of hone.models.list()) names.push(name);
  assert.deepEqual(names, ["m"]);
  const record = {
    project_id: "acme/p",
    vendor_ref: "weave:///acme/p/call/1",
    feedback_type: "note",
    payload: {},
  };
  assert.match((await hone.feedback.create(record)).id, /^[0-9a-f-]{36}$/);
  await assert.rejects(hone.model("p/m", { base: "small" }), { name: "HoneError", code: "conflict" });
  await assert.rejects(hone.jobs.get(model.id), { name: "HoneError", status: 404 });
  await server.close();
});

test("compiles with the web platform's types and without Node's", () => {
  const lib = "ES2023,DOM,DOM.Iterable,DOM.AsyncIterable";
  const options =
    `--ignoreConfig --noEmit --strict --target ES2023 --module NodeNext --lib ${lib} --types`.split(" ");
  const rewriting = ["--rewriteRelativeImportExtensions", "--skipLibCheck", "--verbatimModuleSyntax"];
  const { status, stdout } = spawnSync(
    process.execPath,
    ["node_modules/typescript/bin/tsc", ...options, "", ...rewriting, "src/apps/client/index.ts"],
    { encoding: "utf8" },
  );
  assert.equal(status, 0, stdout);
});
