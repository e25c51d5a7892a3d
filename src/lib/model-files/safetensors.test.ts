// Tests the safetensors format: round trips, shards, and every kind of damage.
import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ServiceError } from "../../base/domain/service-error.ts";
import { bfloat16ToFloat32, float16ToFloat32, float32ToBfloat16 } from "./half-floats.ts";
import { readSafetensorsFolder, readSafetensorsHeader } from "./safetensors.ts";
import { readFloats, readIntegers } from "./stored-tensor.ts";
import { writeSafetensors } from "./write-safetensors.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-safetensors-"));
after(() => rmSync(folder, { recursive: true }));

const matrix = { name: "matrix", shape: [2, 3], data: Float32Array.of(1, -2.5, 3.14159, 1e-30, 65504, -0) };
const scalar = { name: "scalar", shape: [], data: Float32Array.of(7) };

/** Writes a file with this header and zeros as data, and expects a refusal whose message matches. */
function checkRefusal(header: unknown, dataSize: number, message: RegExp): void {
  const json = Buffer.from(typeof header === "string" ? header : JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(json.length));
  const file = join(folder, "corrupt.safetensors");
  writeFileSync(file, Buffer.concat([size, json, Buffer.alloc(dataSize)]));
  assert.throws(() => readSafetensorsHeader(file), { name: "ServiceError", message });
}

test("reads back what it wrote, exactly in float32", () => {
  const file = join(folder, "whole.safetensors");
  writeSafetensors(file, [matrix, scalar], { type: "F32", metadata: { made: "here" } });
  const { tensors, metadata } = readSafetensorsHeader(file);
  assert.deepEqual([...tensors.keys()], ["matrix", "scalar"]);
  assert.deepEqual(metadata, { made: "here" });
  assert.deepEqual(readFloats(tensors.get("matrix")!), matrix.data);
  assert.deepEqual(readFloats(tensors.get("scalar")!), scalar.data);
  assert.ok(!readdirSync(folder).some((name) => name.endsWith(".partial")));
});

test("rounds to bfloat16, ties to even", () => {
  const file = join(folder, "rounded.safetensors");
  writeSafetensors(file, [matrix], { type: "BF16" });
  const read = readFloats(readSafetensorsHeader(file).tensors.get("matrix")!);
  for (const [index, value] of matrix.data.entries()) {
    assert.ok(Math.abs(read[index] - value) <= Math.abs(value) / 256, `${read[index]} is near ${value}`);
  }
  const ties = Float32Array.of(1 + 1 / 256, 1 + 3 / 256, Infinity, NaN);
  assert.deepEqual([...bfloat16ToFloat32(float32ToBfloat16(ties))], [1, 1 + 4 / 256, Infinity, NaN]);
});

test("widens float16, subnormals and infinities included", () => {
  const halves = Uint16Array.of(0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00, 0xfc00, 0x7e00, 0x8000);
  const values = [...float16ToFloat32(halves)];
  assert.deepEqual(values, [1, -2, 65504, 2 ** -24, Infinity, -Infinity, NaN, -0]);
});

test("reads integers, and refuses to read them as floating-point numbers", () => {
  const { tensors } = readSafetensorsHeader("test/fixtures/goldens/models/llama/golden.safetensors");
  const ids = tensors.get("input_ids")!;
  assert.equal(readIntegers(ids).length, 2 * 48);
  assert.throws(() => readFloats(ids), ServiceError);
  assert.throws(() => readIntegers(tensors.get("logits")!), ServiceError);
});

test("finds tensors across shards", () => {
  const sharded = mkdtempSync(join(folder, "sharded-"));
  writeSafetensors(join(sharded, "a.safetensors"), [matrix], { type: "F32" });
  writeSafetensors(join(sharded, "b.safetensors"), [scalar], { type: "F32" });
  const index = { weight_map: { matrix: "a.safetensors", scalar: "b.safetensors" } };
  const indexFile = join(sharded, "model.safetensors.index.json");
  writeFileSync(indexFile, JSON.stringify(index));
  const tensors = readSafetensorsFolder(sharded);
  assert.deepEqual(readFloats(tensors.get("scalar")!), scalar.data);
  writeFileSync(indexFile, JSON.stringify({ weight_map: { ...index.weight_map, other: "a.safetensors" } }));
  assert.throws(() => readSafetensorsFolder(sharded), /places other in a\.safetensors/);
  writeFileSync(indexFile, JSON.stringify({ weight_map: { matrix: "../a.safetensors" } }));
  assert.throws(() => readSafetensorsFolder(sharded), /not a plain file name/);
  writeFileSync(indexFile, JSON.stringify({ weight_map: { matrix: "c.safetensors" } }));
  assert.throws(() => readSafetensorsFolder(sharded), /c\.safetensors is missing/);
});

test("reports a folder without weights", () => {
  assert.throws(() => readSafetensorsFolder("test"), { name: "ServiceError", code: "not_found" });
});

test("refuses a truncated file by name", () => {
  const file = join(folder, "truncated.safetensors");
  const whole = readFileSync("test/fixtures/goldens/models/llama/model.safetensors");
  writeFileSync(file, whole.subarray(0, whole.length - 100));
  assert.throws(() => readSafetensorsHeader(file), /truncated\.safetensors .* ends at byte/);
  writeFileSync(file, whole.subarray(0, 100));
  assert.throws(() => readSafetensorsHeader(file), /header claims/);
  writeFileSync(file, whole.subarray(0, 3));
  assert.throws(() => readSafetensorsHeader(file), /has 3 bytes/);
});

test("refuses corrupt headers, with the reason", () => {
  checkRefusal("{oops", 0, /JSON does not parse/);
  checkRefusal("[]", 0, /not an object/);
  checkRefusal(
    { a: { dtype: "F32", shape: [2], data_offsets: [0, 4] } },
    8,
    /a has 4 bytes; F32 \[2\] takes 8/,
  );
  checkRefusal({ a: { dtype: "F32", shape: [-1], data_offsets: [0, 4] } }, 8, /lacks a dtype, a shape/);
  checkRefusal({ a: { dtype: "F8_E4M3", shape: [4], data_offsets: [0, 4] } }, 4, /a is F8_E4M3/);
  const overlapping = {
    a: { dtype: "F32", shape: [2], data_offsets: [0, 8] },
    b: { dtype: "F32", shape: [1], data_offsets: [4, 8] },
  };
  checkRefusal(overlapping, 8, /tensors a and b overlap/);
});

test("a write that does not fit on the disk leaves no partial file, and the old file unchanged", (t) => {
  if (process.platform !== "linux") return t.skip("only Linux has a device that is always full");
  const place = join(folder, "full");
  const file = join(place, "model.safetensors");
  mkdirSync(place);
  writeSafetensors(file, [matrix], { type: "F32" });
  const before = readFileSync(file);
  symlinkSync("/dev/full", `${file}.partial`);
  assert.throws(() => writeSafetensors(file, [scalar], { type: "F32" }), { code: "ENOSPC" });
  assert.deepEqual(readdirSync(place), ["model.safetensors"]);
  assert.deepEqual(readFileSync(file), before);
});
