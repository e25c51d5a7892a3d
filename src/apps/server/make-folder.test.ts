// Tests that a folder which cannot be created is reported as an error and does not make the program hang.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { ServiceError } from "../../base/domain/service-error.ts";
import { makeFolder } from "./make-folder.ts";

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-make-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function refused(folder: string): Promise<string> {
  const error = await makeFolder(folder, "--data").then(
    () => null,
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof ServiceError && error.code === "invalid", String(error));
  return error.message;
}

test("creates a folder and its parents, and accepts an existing one", async (t) => {
  const folder = join(newFolder(t), "a", "b", "c");
  for (let time = 0; time < 2; time++) await makeFolder(folder, "--data");
  assert.ok(statSync(folder).isDirectory());
});

test("refuses a file in place of the folder or of a parent, and names it", async (t) => {
  const file = join(newFolder(t), "file");
  writeFileSync(file, "");
  for (const folder of [file, join(file, "below", "it")])
    assert.equal(
      await refused(folder),
      `The folder ${file} cannot be used: it is not a folder. Name another with --data, or change its rights.`,
    );
});

test(
  "refuses a path on a file system that allows no new folders, without hanging",
  { skip: platform() !== "linux" },
  async () => {
    assert.match(await refused("/proc/hone-data"), /its file system allows no folders there/);
    assert.ok(!existsSync("/proc/hone-data"));
  },
);

test("refuses a name that is too long", async (t) => {
  assert.match(await refused(join(newFolder(t), "x".repeat(5000))), /its name is too long/);
});
