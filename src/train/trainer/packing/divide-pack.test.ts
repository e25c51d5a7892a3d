// Tests that a divided pack contains each row once, that its parts have similar cost, and that a pack is divided only
// if that is faster.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { dividePack } from "./divide-pack.ts";
import { costOf, totalOf } from "./pack-size.ts";
import { type Pack, cutIntoPacks } from "./packs.ts";
import { type PackedSequence, groupByPrefix } from "./prefix-groups.ts";
import { searchCount, searchSeeds } from "../../../base/domain/testing/search.ts";

/**
 * Returns a sequence in which every token except the first is trained. Two sequences share only the tokens of
 * `beginning`.
 */
let nextId = 0;
function sequenceOf(length: number, beginning: readonly number[] = []): PackedSequence {
  const own = Array.from({ length: length - beginning.length }, () => nextId++);
  return {
    tokenIds: Int32Array.from([...beginning, ...own]),
    mask: Uint8Array.from({ length }, (_, index) => (index === 0 ? 0 : 1)),
  };
}

/** Returns answers of the given lengths to one prompt. */
function answersTo(promptLength: number, lengths: readonly number[]): readonly PackedSequence[] {
  const prompt = Array.from({ length: promptLength }, () => nextId++);
  return lengths.map((length) => sequenceOf(promptLength + length, prompt));
}

function onePackOf(sequences: readonly PackedSequence[]): Pack<PackedSequence> {
  const packs = cutIntoPacks(groupByPrefix(sequences), 1e9);
  assert.equal(packs.length, 1);
  return packs[0];
}

const into = (count: number) => ({ count, tokensMin: 500, excessMax: 1.1 });

function rowsOf({ groups }: Pack<PackedSequence>): readonly unknown[] {
  return groups.flat();
}

test("each row is in one part, and no part takes much longer than its share", () => {
  let dividedCount = 0;
  for (const seed of searchSeeds(15)) {
    const random = seededRandom("parts", seed);
    const sequences = Array.from({ length: 10 + random.index(30) }, () =>
      answersTo(
        20 + random.index(100),
        Array.from({ length: 1 + random.index(6) }, () => 2 + random.index(60)),
      ),
    ).flat();
    for (const pack of cutIntoPacks(groupByPrefix(sequences), 4096)) {
      const parts = dividePack(pack, into(2));
      assert.deepEqual(new Set(parts.flatMap(rowsOf)), new Set(rowsOf(pack)), `seed ${seed}`);
      assert.equal(parts.flatMap(rowsOf).length, rowsOf(pack).length);
      if (parts.length === 1) continue;
      dividedCount += 1;
      const cost = ({ groups }: Pack<PackedSequence>): number => costOf(totalOf(groups));
      for (const part of parts) {
        assert.equal(part.kind, pack.kind);
        assert.ok(cost(part) <= 0.55 * cost(pack), `seed ${seed}: ${cost(part)} of ${cost(pack)}`);
      }
    }
  }
  assert.ok(dividedCount >= searchCount(8), `${dividedCount} were divided`);
});

test("deals rows of equal length evenly", () => {
  const pack = onePackOf(Array.from({ length: 16 }, () => sequenceOf(200)));
  for (const count of [2, 4])
    assert.deepEqual(
      dividePack(pack, into(count)).map(({ kind, groups }) => [kind, groups.length]),
      Array.from({ length: count }, () => ["rows", 16 / count]),
    );
});

test("divides answers to one prompt if they are long compared with it", () => {
  const eight = Array.from({ length: 8 }, () => 250);
  const parts = dividePack(onePackOf(answersTo(40, eight)), into(2));
  assert.deepEqual(
    parts.map(({ kind, groups }) => [kind, groups.map((group) => group.length)]),
    [
      ["prefixed", [4]],
      ["prefixed", [4]],
    ],
  );
  const shared = onePackOf(answersTo(1500, eight));
  assert.deepEqual(dividePack(shared, into(2)), [shared]);
});

test("does not divide short or unbalanced packs", () => {
  for (const lengths of [[400, 400], [3000], [900, 900, 900]]) {
    const pack = onePackOf(lengths.map((length) => sequenceOf(length)));
    assert.deepEqual(dividePack(pack, into(2)), [pack], lengths.join(" "));
  }
  const pack = onePackOf(Array.from({ length: 8 }, () => sequenceOf(200)));
  assert.equal(totalOf(pack.groups).tokenCount, 8 * 199);
  assert.deepEqual(dividePack(pack, into(1)), [pack]);
  assert.deepEqual(dividePack(pack, into(4)), [pack]);
});
