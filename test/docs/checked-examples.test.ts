// Tests that the documentation's examples of the client compile.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkExamples } from "./checked-examples.ts";
import { pages } from "./page-blocks.ts";

test("every example of the client compiles, unlike one that calls a missing method", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-page-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const wrong = join(folder, "wrong.md");
  const code = 'import { Hone } from "hone-server/client";\nawait new Hone().jobs.begin("j");';
  writeFileSync(wrong, `\`\`\`ts\n${code}\n\`\`\`\n`);
  const ofClient = pages.filter((page) => readFileSync(page, "utf8").includes("hone-server/client"));
  const { count, faults } = checkExamples(["docs/reference/client.md", ...ofClient, wrong]);
  assert.ok(count >= 16);
  assert.match(
    faults,
    /^\S+-wrong-md-\d+\.ts\(2,\d+\): error TS\d+: Property 'begin' does not exist[^\n]*\n$/,
  );
});
