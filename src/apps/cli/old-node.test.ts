import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

/** Runs `hone --version` in a process that claims to be another version of Node. */
function runWith(version: string): { readonly status: number | null; readonly stderr: string } {
  const script = `
    Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } });
    process.argv.push("--version");
    await import("./bin/hone.js");`;
  return spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
}

test("an old version of Node gets one line that names the required version", () => {
  for (const version of ["18.20.8", "20.18.3"]) {
    const { status, stderr } = runWith(version);
    assert.equal(
      stderr,
      `hone: This is Node ${version}; Hone needs Node 20.19 or newer (https://nodejs.org).\n`,
    );
    assert.equal(status, 1);
  }
});
