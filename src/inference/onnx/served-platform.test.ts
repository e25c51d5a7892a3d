import assert from "node:assert/strict";
import { test } from "node:test";
import { requireServed, thisPlatform } from "./served-platform.ts";

test("supports this platform, because its tests run", () => {
  assert.equal(thisPlatform().architecture, process.arch);
  requireServed();
});

for (const [system, architecture, hasMusl, named] of [
  ["darwin", "x64", false, "darwin on x64"],
  ["linux", "ia32", false, "linux on ia32"],
  ["linux", "x64", true, "linux on x64 with musl (Alpine)"],
  ["sunos", "x64", false, "sunos on x64"],
] as const) {
  test(`a start on ${named} reports that there is no build for it, and what to do`, () => {
    assert.throws(() => requireServed({ system, architecture, hasMusl }), {
      code: "unsupported",
      message: `ONNX Runtime has no build for ${named}, so no model can be served here. Use Linux with glibc, such as Debian (x64, arm64), macOS (arm64) or Windows (x64); commands with --url ask a server elsewhere.`,
    });
  });
}
