// Tests GGUF files against those that the reference package wrote and decoded (test/fixtures/gguf/make.py).
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readSafetensorsHeader } from "../safetensors.ts";
import { readFloats, rowsOf } from "../stored-tensor.ts";
import { ggufParts, readGguf } from "./gguf-file.ts";

const fixtures = "test/fixtures/gguf";
const everyType = join(fixtures, "every-type.gguf");
const scratch = mkdtempSync(join(tmpdir(), "hone-gguf-"));
after(() => rmSync(scratch, { recursive: true }));

/** Copies the file with some of its bytes replaced, or cut off. */
function changed(change: (bytes: Buffer) => Buffer): string {
  const file = join(scratch, "changed.gguf");
  writeFileSync(file, change(readFileSync(everyType)));
  return file;
}

test("reads values of every type", () => {
  const { metadata } = readGguf(everyType);
  assert.equal(metadata.get("text.plain"), "héllo\n");
  const numbers = ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "u64", "i64", "f64"];
  assert.deepEqual(
    numbers.map((name) => metadata.get(name)),
    [200, -5, 60_000, -300, 4_000_000_000, -7, 0.5, 2 ** 40, -(2 ** 40), 0.1],
  );
  assert.equal(metadata.get("yes"), true);
  assert.deepEqual(metadata.get("list.texts"), ["a", "", "ü"]);
  assert.deepEqual(metadata.get("list.numbers"), [1, 2, 3]);
  assert.deepEqual(metadata.get("list.floats"), [0.25, 1.5]);
  assert.deepEqual(metadata.get("list.flags"), [true, false]);
});

test("decodes tensors of every type as the reference does, to the last bit", () => {
  const { tensors } = readGguf(everyType);
  const { tensors: expected } = readSafetensorsHeader(join(fixtures, "every-type.safetensors"));
  assert.deepEqual([...tensors.keys()].sort(), [...expected.keys()].sort());
  for (const [name, tensor] of tensors) {
    const wanted = expected.get(name)!;
    assert.deepEqual(tensor.shape, wanted.shape, name);
    assert.deepEqual(readFloats(tensor), readFloats(wanted), name);
    assert.deepEqual(readFloats(rowsOf(tensor, 1, 1)), readFloats(rowsOf(wanted, 1, 1)), `a row of ${name}`);
  }
});

test("reads a model of several files by any of them", () => {
  for (const part of [1, 2]) {
    const file = join(fixtures, `split-0000${part}-of-00002.gguf`);
    const { metadata, tensors } = readGguf(file);
    assert.equal(metadata.get("only.first"), "here");
    assert.deepEqual(
      [...readFloats(tensors.get("part.0")!), ...readFloats(tensors.get("part.1")!)],
      [0, 1, 2, 3, 1, 2, 3, 4],
    );
    assert.equal(ggufParts(file).length, 2);
  }
  const alone = join(scratch, "split-00001-of-00002.gguf");
  copyFileSync(join(fixtures, "split-00001-of-00002.gguf"), alone);
  assert.throws(() => readGguf(alone), /split-00002-of-00002\.gguf cannot be opened/);
  const renamed = join(scratch, "renamed.gguf");
  copyFileSync(alone, renamed);
  assert.throws(() => readGguf(renamed), /one of 2 parts/);
});

test("refuses a file that is not GGUF, is truncated, or claims more than it has", () => {
  const refused = (change: (bytes: Buffer) => Buffer, fault: RegExp): void => {
    const file = changed(change);
    assert.throws(
      () => readGguf(file),
      (error: Error) => {
        assert.match(error.message, /changed\.gguf/);
        assert.match(error.message, fault);
        return true;
      },
    );
  };
  const whole = readFileSync(everyType);
  refused((bytes) => bytes.fill("X", 0, 1), /does not begin like a GGUF file/);
  refused(() => Buffer.alloc(10), /does not begin like a GGUF file/);
  refused((bytes) => (bytes.writeUInt32LE(1, 4), bytes), /of version 1/);
  refused((bytes) => (bytes.writeBigUInt64LE(2n ** 60n, 8), bytes), /count of 1152921504606846976/);
  refused((bytes) => (bytes.writeBigUInt64LE(2n ** 60n, 24), bytes), /count of 1152921504606846976/);
  refused((bytes) => bytes.subarray(0, 200), /is cut off/);
  refused((bytes) => bytes.subarray(0, whole.length - 200), /ends at byte \d+, the file has \d+/);
  const name = whole.indexOf("tensor.Q4_0") + "tensor.Q4_0".length;
  refused((bytes) => (bytes.writeUInt32LE(9, name), bytes), /tensor\.Q4_0 has 9 dimensions/);
  refused((bytes) => (bytes.writeBigUInt64LE(95n, name + 4), bytes), /not a whole number of blocks/);
  refused((bytes) => (bytes.writeUInt32LE(16, name + 20), bytes), /tensor\.Q4_0 is IQ2_XXS; F32/);
  refused((bytes) => (bytes.writeUInt32LE(42, name + 20), bytes), /tensor\.Q4_0 is Q2_0; .*such as Q8_0/);
  refused((bytes) => (bytes.writeUInt32LE(99, name + 20), bytes), /unknown type 99/);
});

test("fails with its own error for any bytes in a file", () => {
  const whole = readFileSync(everyType);
  for (let at = 0; at < 1600; at += 3) {
    const file = changed((bytes) => (bytes.writeUInt8(whole[at] ^ 0xff, at), bytes));
    try {
      readGguf(file);
    } catch (error) {
      assert.ok(error instanceof Error && error.name === "ServiceError", `byte ${at}: ${String(error)}`);
    }
  }
});
