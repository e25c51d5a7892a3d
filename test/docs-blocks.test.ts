// Blocks of pages other than the recipes, run as somebody would who copies them, one after the other, beside a server.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { putHoneInto } from "./hone-command.ts";
import { serverOfFile } from "./running-server.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-blocks-"));
const bin = putHoneInto(join(folder, "bin"));
writeFileSync(join(bin, "npx"), '#!/bin/sh\nexec "$@"\n');
chmodSync(join(bin, "npx"), 0o755);
after(() => rmSync(folder, { recursive: true }));
const server = serverOfFile({
  onStart: ({ dataFolder }) => symlinkSync(resolve(dataFolder), join(folder, ".hone")),
});

/** How many blocks of each page run, from its first on, and what they say at least once. */
const pages = {
  "docs/guides/keys.md": { language: "sh", count: 5, says: /^changed reports$[\s\S]*"object":"list"/m },
  "docs/guides/weave.md": { language: "sh", count: 1, says: /^$/ },
  "docs/reference/client.md": { language: "ts", count: 1, says: /c-a-t/ },
} as const;

function blocksOf(page: string, language: string): readonly string[] {
  const found = readFileSync(page, "utf8").matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"));
  return [...found].map(([, code = ""]) => code);
}

/** @returns what it printed */
function run(program: string, words: readonly string[]): string {
  const { url, apiKey } = server();
  const env = { ...process.env, PATH: `${bin}:${process.env["PATH"]}`, HONE_URL: url, HONE_API_KEY: apiKey };
  const { status, stdout, stderr } = spawnSync(program, words, { cwd: folder, env, encoding: "utf8" });
  assert.equal(status, 0, `${words.join(" ")}:\n${stdout}${stderr}`);
  return stdout;
}

function runBlock(code: string, language: string): string {
  const own = code.replaceAll("http://127.0.0.1:8000", server().url);
  if (language === "sh") return run("bash", ["-euc", own.replaceAll("curl ", "curl --fail-with-body -sS ")]);
  const client = pathToFileURL(resolve("dist/src/apps/client/index.js")).href;
  writeFileSync(join(folder, "block.mjs"), own.replace("hone-server/client", client));
  return run(process.execPath, ["block.mjs"]);
}

for (const [page, { language, count, says }] of Object.entries(pages))
  test(`the first ${count} blocks of ${page} run as they stand`, () => {
    const blocks = blocksOf(page, language).slice(0, count);
    assert.equal(blocks.length, count);
    assert.match(blocks.map((block) => runBlock(block, language)).join("\n"), says);
  });

test("the block of docs/guides/structured-outputs.md that checks a schema runs as it stands", () => {
  const block = blocksOf("docs/guides/structured-outputs.md", "sh").find((code) =>
    code.includes("schemas check"),
  );
  assert.match(runBlock(block ?? "", "sh"), /person\.json: .*/);
});

test("no block of these pages has something left to fill in", () => {
  for (const page of [...Object.keys(pages), "docs/guides/structured-outputs.md"])
    for (const code of blocksOf(page, "(?:sh|ts|js)"))
      assert.doesNotMatch(code, /=<|hone_\.\.\.|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-/, page);
});
