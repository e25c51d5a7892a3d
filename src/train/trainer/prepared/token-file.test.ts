// Tests that the token file returns the records that were written to it, and rewrites incomplete ones.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import type { TokenSequence } from "../../trajectories/sequences.ts";
import { TokenFile } from "./token-file.ts";

const random = seededRandom("token file test", 1);

/** Returns a random sequence. `knownShare` is the fraction of its trained tokens that have log-probabilities. */
function sequenceOf(length: number, knownShare: number): TokenSequence {
  const mask = Uint8Array.from({ length }, (_, index) => (index > 0 && random.index(2) === 1 ? 1 : 0));
  const isKnown = (index: number): boolean => mask[index] === 1 && random.uniform() < knownShare;
  return {
    tokenIds: Int32Array.from({ length }, () => random.index(2 ** 31 - 1)),
    mask,
    oldLogprobs: Float32Array.from({ length }, (_, index) => (isKnown(index) ? -10 * random.uniform() : NaN)),
  };
}

/** Records that contain no, one or several sequences. */
const records = Array.from({ length: 9 }, (_, index) => ({
  note: { line: index, text: "ä".repeat(index) },
  sequences: Array.from({ length: index % 4 }, (_sequence, which) =>
    sequenceOf(1 + random.index(40), which / 2),
  ),
}));

function fileFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-tokens-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "job", "tokens");
}

/** Writes the records that the file lacks. Returns the number of records that it already had. */
function writeAll(path: string, key: unknown = "key"): number {
  const file = new TokenFile(path, key);
  const count = [...file.records()].length;
  for (const { note, sequences } of records.slice(count)) file.append(note, sequences);
  file.flush();
  file.close();
  return count;
}

test("reads what was appended, immediately and after reopening the file", (t) => {
  const path = fileFor(t);
  const written = new TokenFile(path, "key");
  assert.deepEqual([...written.records()], []);
  const appended = records.map(({ note, sequences }) => written.append(note, sequences));
  written.flush();
  const again = new TokenFile(path, "key");
  assert.deepEqual([...again.records()], appended);
  for (const file of [written, again]) {
    for (const [index, { note, sequences }] of records.entries()) {
      assert.deepEqual(appended[index].note, note);
      for (const [at, stored] of appended[index].sequences.entries()) {
        const { mask, tokenIds } = sequences[at];
        assert.equal(stored.tokenCount, tokenIds.length);
        assert.equal(
          stored.trainedCount,
          mask.reduce((sum, trains) => sum + trains, 0),
        );
        assert.deepEqual(file.read(stored), sequences[at]);
      }
    }
    file.close();
  }
});

test("keeps whole records of a file truncated anywhere, and writes the rest again", (t) => {
  const path = fileFor(t);
  writeAll(path);
  const whole = readFileSync(path);
  const counts = new Set<number>();
  for (let length = 0; length < whole.length; length += 3) {
    truncateSync(path, length);
    counts.add(writeAll(path));
    assert.ok(readFileSync(path).equals(whole), `cut to ${length} of ${whole.length} bytes`);
  }
  assert.deepEqual([...counts], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(writeAll(path), records.length);
});

test("a flipped byte ends the file before its record", (t) => {
  const path = fileFor(t);
  writeAll(path);
  const whole = readFileSync(path);
  for (let at = 0; at < whole.length; at += 17) {
    const flipped = Buffer.from(whole);
    flipped[at] ^= 1 << random.index(8);
    writeFileSync(path, flipped);
    assert.ok(writeAll(path) < records.length);
    assert.ok(readFileSync(path).equals(whole), `byte ${at}`);
  }
});

test("zeros, as a power loss may leave, are no record", (t) => {
  const path = fileFor(t);
  writeAll(path);
  const whole = readFileSync(path);
  writeFileSync(path, Buffer.concat([whole, Buffer.alloc(4096)]));
  assert.equal(writeAll(path), records.length);
  assert.ok(readFileSync(path).equals(whole));
});

test("starts a file with another key anew", (t) => {
  const path = fileFor(t);
  assert.equal(writeAll(path, { settings: 1 }), 0);
  assert.equal(writeAll(path, { settings: 1 }), records.length);
  assert.equal(writeAll(path, { settings: 2 }), 0);
  assert.equal(writeAll(path, { settings: 1 }), 0);
});
