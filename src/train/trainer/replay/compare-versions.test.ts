// Tests comparing two versions' folders, with equal and with different files.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { writeSafetensors } from "../../../lib/model-files/write-safetensors.ts";
import { compareVersions } from "./compare-versions.ts";

const files = ["adapter.safetensors", "config.json"];

/** Creates two version folders. The matrix `a` of the second one has the given values. */
function folders(t: TestContext, values: readonly number[], config = "{}"): readonly [string, string] {
  const folder = mkdtempSync(join(tmpdir(), "hone-compare-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const write = (name: string, a: readonly number[], text: string): string => {
    mkdirSync(join(folder, name));
    const tensors = [
      { name: "a", shape: [a.length], data: Float32Array.from(a) },
      { name: "b", shape: [1], data: Float32Array.of(7) },
    ];
    writeSafetensors(join(folder, name, "adapter.safetensors"), tensors, { type: "F32" });
    writeFileSync(join(folder, name, "config.json"), text);
    return join(folder, name);
  };
  return [write("version", [1, 0, 3], "{}"), write("replayed", values, config)];
}

test("equal folders are equal, even if the second has more files", (t) => {
  const [version, replayed] = folders(t, [1, 0, 3]);
  writeFileSync(join(replayed, "optimizer.safetensors"), "of a state that the version has lost");
  assert.deepEqual(compareVersions(version, replayed), {
    files,
    matrixCount: 2,
    differentCount: 0,
    different: [],
  });
});

test("names a matrix that differs, with the number and size of differences, down to the sign of a zero", (t) => {
  const different = (values: readonly number[]) => compareVersions(...folders(t, values)).different;
  const ofA = { file: "adapter.safetensors", matrix: "a" };
  assert.deepEqual(different([1, 0.5, 1]), [{ ...ofA, valueCount: 2, greatest: 2 }]);
  assert.deepEqual(different([1, -0, 3]), [{ ...ofA, valueCount: 1, greatest: 0 }]);
  assert.deepEqual(different([1, NaN, 3]), [{ ...ofA, valueCount: 1, greatest: null }]);
  assert.deepEqual(different([1, 0]), [{ ...ofA, valueCount: null, greatest: null }]);
});

test("names a different or missing file without matrices", (t) => {
  const [version, replayed] = folders(t, [1, 0, 3], '{"r":1}');
  const ofFile = { matrix: null, valueCount: null, greatest: null };
  assert.deepEqual(compareVersions(version, replayed).different, [{ file: "config.json", ...ofFile }]);
  rmSync(join(replayed, "adapter.safetensors"));
  assert.equal(compareVersions(version, replayed).differentCount, 2);
});
