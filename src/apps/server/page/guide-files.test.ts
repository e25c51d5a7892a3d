import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { guideFiles } from "./guide-files.ts";

const parent = mkdtempSync(join(tmpdir(), "hone-guide-"));
const folder = join(parent, "guide");
mkdirSync(join(folder, "guides"), { recursive: true });
writeFileSync(join(parent, "secret.html"), "secret");
writeFileSync(join(folder, "index.html"), "index");
writeFileSync(join(folder, "guides", "keys.html"), "keys");
writeFileSync(join(folder, "guides", "keys.html.br"), "br keys");
after(() => rmSync(parent, { recursive: true }));

test("reads files of the folder with their content type and the encodings that were built", async () => {
  const guide = guideFiles(folder);
  const file = await guide.read("guides/keys.html");
  assert.equal(file?.contentType, "text/html; charset=utf-8");
  assert.deepEqual(
    Object.entries(file.bytes).map(([name, bytes]) => [name, String(bytes)]),
    [
      ["identity", "keys"],
      ["br", "br keys"],
    ],
  );
  assert.equal(guide.isBuilt(), true);
});

test("knows no folders, no files outside its folder, and nothing if the guide was not built", async () => {
  const guide = guideFiles(folder);
  for (const path of ["guides", "guides/", "../secret.html", "guides/../index.html", "/index.html", ""])
    assert.equal(await guide.read(path), null, path);
  const unbuilt = guideFiles(join(folder, "none"));
  assert.deepEqual([unbuilt.isBuilt(), await unbuilt.read("index.html")], [false, null]);
});
