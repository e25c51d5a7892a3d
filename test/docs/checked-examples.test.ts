// Tests that the documentation's examples of the client compile.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkExamples } from "./checked-examples.ts";
import { pages } from "./page-blocks.ts";

test("every example of the client compiles", () => {
  const ofClient = pages.filter((page) => readFileSync(page, "utf8").includes("hone-server/client"));
  const { count, faults } = checkExamples(["docs/reference/client.md", ...ofClient]);
  assert.ok(count >= 15);
  assert.equal(faults, "");
});

test("detects an example that calls a missing method", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-page-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const page = join(folder, "page.md");
  const code = 'import { Hone } from "hone-server/client";\nawait new Hone().jobs.begin("j");';
  writeFileSync(page, `\`\`\`ts\n${code}\n\`\`\`\n`);
  assert.match(checkExamples([page]).faults, /Property 'begin' does not exist/);
});
