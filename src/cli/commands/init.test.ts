import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { commandProcess } from "../testing/command-process.ts";

const run = commandProcess();

test("hone init writes a project with the folder's name, and nothing over what is there", async (t) => {
  const parent = mkdtempSync(join(tmpdir(), "hone-init-"));
  t.after(() => rmSync(parent, { recursive: true }));
  const folder = join(parent, "My Task!");
  const { output, status } = await run(["init", folder, "--json"]);
  assert.equal(status, 0);
  const { files } = JSON.parse(output) as { readonly files: readonly string[] };
  assert.deepEqual(files.toSorted(), readdirSync(folder).toSorted());
  const { name, dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const own = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };
  assert.deepEqual([name, dependencies], ["my-task", { "hone-server": `^${own.version}` }]);

  const other = mkdtempSync(join(parent, "other-"));
  writeFileSync(join(other, "task.js"), "mine");
  const refused = await run(["init", other]);
  assert.equal(refused.status, 1);
  assert.match(refused.errors, /has task\.js already, and nothing was written\. Name a new folder/);
  assert.deepEqual(readdirSync(other), ["task.js"]);
});
