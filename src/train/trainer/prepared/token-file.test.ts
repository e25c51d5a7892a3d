// The file of what a job's lines were made into: what was written is read, and what was not written whole is written anew.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import type { TokenSequence } from "../../trajectories/sequences.ts";
import { TokenFile } from "./token-file.ts";

const random = seededRandom("token file test", 1);

/** Of tokens that train, some of them with a log-probability, or none at all. */
function sequenceOf(length: number, knownShare: number): TokenSequence {
  const mask = Uint8Array.from({ length }, (_, index) => (index > 0 && random.index(2) === 1 ? 1 : 0));
  const isKnown = (index: number): boolean => mask[index] === 1 && random.uniform() < knownShare;
  return {
    tokenIds: Int32Array.from({ length }, () => random.index(2 ** 31 - 1)),
    mask,
    oldLogprobs: Float32Array.from({ length }, (_, index) => (isKnown(index) ? -10 * random.uniform() : NaN)),
  };
}

/** Of no, one and several sequences. */
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

/** Writes what of the records is not there; returns how many were. */
function writeAll(path: string, key: unknown = "key"): number {
  const file = new TokenFile(path, key);
  const count = [...file.records()].length;
  for (const { note, sequences } of records.slice(count)) file.append(note, sequences);
  file.flush();
  file.close();
  return count;
}

test("what was appended is read, at once and from a file that is opened again", (t) => {
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

test("wherever a file ends that a process was writing, the whole records count and the rest is written anew", (t) => {
  const path = fileFor(t);
  writeAll(path);
  const whole = readFileSync(path);
  const counts = new Set<number>();
  for (let length = 0; length < whole.length; length++) {
    truncateSync(path, length);
    counts.add(writeAll(path));
    assert.ok(readFileSync(path).equals(whole), `cut to ${length} of ${whole.length} bytes`);
  }
  assert.deepEqual([...counts], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(writeAll(path), records.length);
});

test("a byte that flipped ends the file before its record", (t) => {
  const path = fileFor(t);
  writeAll(path);
  const whole = readFileSync(path);
  for (let at = 0; at < whole.length; at += 7) {
    const flipped = Buffer.from(whole);
    flipped[at] ^= 1 << random.index(8);
    writeFileSync(path, flipped);
    assert.ok(writeAll(path) < records.length);
    assert.ok(readFileSync(path).equals(whole), `byte ${at}`);
  }
});

test("zeros, which a machine that lost its power may leave, are no record", (t) => {
  const path = fileFor(t);
  writeAll(path);
  const whole = readFileSync(path);
  writeFileSync(path, Buffer.concat([whole, Buffer.alloc(4096)]));
  assert.equal(writeAll(path), records.length);
  assert.ok(readFileSync(path).equals(whole));
});

test("a file of another key is begun anew", (t) => {
  const path = fileFor(t);
  assert.equal(writeAll(path, { settings: 1 }), 0);
  assert.equal(writeAll(path, { settings: 1 }), records.length);
  assert.equal(writeAll(path, { settings: 2 }), 0);
  assert.equal(writeAll(path, { settings: 1 }), 0);
});
