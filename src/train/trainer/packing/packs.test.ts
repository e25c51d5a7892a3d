// Tests that packs contain each row once, stay within the token limit, and have rows of similar length. Also tests that
// layouts assign the right position to each token.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { layoutOf, paddedRows, placesInRows } from "./pack-layout.ts";
import { type Pack, cutGroup, cutIntoPacks } from "./packs.ts";
import {
  type PackedSequence,
  type PrefixGroup,
  computedTokenCount,
  groupByPrefix,
  prefixOf,
} from "./prefix-groups.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";

/** Returns a sequence in which every token but the first is trained on. */
function sequenceOf(tokenIds: readonly number[]): PackedSequence {
  return {
    tokenIds: Int32Array.from(tokenIds),
    mask: Uint8Array.from(tokenIds, (_, index) => (index === 0 ? 0 : 1)),
  };
}

/** Returns random prompts with answers of several lengths each. */
function problems(seed: number): readonly PackedSequence[] {
  const random = seededRandom("packs", seed);
  return Array.from({ length: 6 }, (_, problem) => {
    const prompt = [problem, ...Array.from({ length: random.index(30) }, () => random.index(90))];
    return Array.from({ length: 1 + random.index(6) }, () =>
      sequenceOf([...prompt, ...Array.from({ length: 2 + random.index(20) }, () => random.index(90))]),
    );
  }).flat();
}

function tokenCountOf({ groups }: Pack<PackedSequence>): number {
  return groups.reduce((count, group) => count + computedTokenCount(group), 0);
}

test("puts each sequence into one pack, and only a pack of a single row exceeds the limit", () => {
  for (const seed of searchSeeds(10)) {
    const sequences = problems(seed);
    for (const tokensMax of [1, 60, 150, 10_000]) {
      const packs = cutIntoPacks(groupByPrefix(sequences), tokensMax);
      const served = packs.flatMap(({ groups }) => groups.flat().flatMap((row) => row.sequences));
      assert.deepEqual([served.length, new Set(served)], [sequences.length, new Set(sequences)]);
      for (const pack of packs) {
        assert.ok(tokenCountOf(pack) <= tokensMax || pack.groups.flat().length === 1, `seed ${seed}`);
        for (const group of pack.groups) assert.equal(group.length > 1, pack.kind === "prefixed");
      }
    }
  }
});

test("cuts a group with too many tokens, and each part computes the prefix", () => {
  const prompt = Array.from({ length: 10 }, (_, index) => index);
  const [group] = groupByPrefix([20, 30, 40, 50].map((id) => sequenceOf([...prompt, id, id + 1, id + 2])));
  const sizes = (tokensMax: number): readonly (readonly number[])[] =>
    cutGroup(group, tokensMax).map((part) => [prefixOf(part).length, part.length, computedTokenCount(part)]);
  assert.deepEqual(sizes(18), [[10, 4, 18]]);
  assert.deepEqual(sizes(17), [
    [10, 3, 16],
    [0, 1, 12],
  ]);
  assert.deepEqual(
    sizes(1),
    Array.from({ length: 4 }, () => [0, 1, 12]),
  );
});

test("divides a group with too many tokens into parts of similar size", () => {
  const prompt = Array.from({ length: 10 }, (_, index) => index);
  const groups = groupByPrefix(
    Array.from({ length: 8 }, (_, row) => sequenceOf([...prompt, ...Array<number>(7).fill(100 + row)])),
  );
  const sizes = (tokensMax: number): readonly (readonly number[])[] =>
    cutIntoPacks(groups, tokensMax).map((pack) => pack.groups.map(({ length }) => length));
  assert.deepEqual(sizes(58), [[8]]);
  assert.deepEqual(sizes(57), [[4], [4]]);
  assert.deepEqual(sizes(34), [[4], [4]]);
  assert.deepEqual(sizes(33), [[3], [3], [2]]);
});

test("does not pad rows of very different lengths to one length", () => {
  const sequences = [1000, 990, ...Array.from({ length: 20 }, () => 30)].map((length, index) =>
    sequenceOf(Array.from({ length }, (_, at) => index * 1000 + at)),
  );
  const packs = cutIntoPacks(groupByPrefix(sequences), 100_000);
  assert.deepEqual(
    packs.map(({ groups }) => groups.length),
    [2, 20],
  );
});

test("a token's place is that of its predecessor, in its row or in the prefix", () => {
  for (const seed of searchSeeds(10)) {
    for (const pack of cutIntoPacks(groupByPrefix(problems(seed)), 150)) {
      const layout = layoutOf(pack);
      const { tokenIds_L, positions_L, sequences_S, trained_N } = layout;
      const trained = sequences_S.reduce((count, { tokenIds }) => count + tokenIds.length - 1, 0);
      assert.equal(trained_N.length, trained);
      for (const { sequence, index, place } of trained_N) {
        assert.equal(tokenIds_L[place], sequences_S[sequence].tokenIds[index - 1]);
        assert.equal(positions_L[place], index - 1);
      }
      checkRows(layout);
    }
  }
});

/** Asserts that `placesInRows` gives the position of each token in the padded rows. */
function checkRows({ tokenIds_L, prefixes_G, rows_R }: ReturnType<typeof layoutOf>): void {
  const flat = [prefixes_G, rows_R].flatMap((segments) =>
    segments.length === 0 ? [] : paddedRows(segments).ids,
  );
  const places = placesInRows([prefixes_G, rows_R]);
  assert.deepEqual(
    places.map((place) => flat[place]),
    tokenIds_L.map((_, index) => index),
  );
  assert.ok(flat.every((id) => id < tokenIds_L.length));
}

test("lists a prefix once, before all rows", () => {
  const [pack] = cutIntoPacks(groupByPrefix([sequenceOf([1, 2, 3, 4, 9]), sequenceOf([1, 2, 3, 5, 9])]), 100);
  const { tokenIds_L, positions_L, prefixes_G, rows_R, prefixOfRow_R } = layoutOf(pack);
  assert.deepEqual(tokenIds_L, [1, 2, 3, 4, 5]);
  assert.deepEqual(positions_L, [0, 1, 2, 3, 3]);
  assert.deepEqual(prefixes_G, [{ start: 0, length: 3 }]);
  assert.deepEqual(rows_R, [
    { start: 3, length: 1 },
    { start: 4, length: 1 },
  ]);
  assert.deepEqual(prefixOfRow_R, [
    { prefix: 0, length: 3 },
    { prefix: 0, length: 3 },
  ]);
});

test("does not pad a short row to a long one of its group if computing the prefix again is cheaper", () => {
  const prompt = Array.from({ length: 200 }, (_, index) => index);
  const answers = [900, ...Array.from({ length: 12 }, () => 20)].map((length, index) =>
    sequenceOf([...prompt, ...Array.from({ length }, (_, at) => 1000 * (index + 1) + at)]),
  );
  const packs = cutIntoPacks(groupByPrefix(answers), 100_000);
  assert.deepEqual(
    packs.map(({ kind, groups }) => [kind, groups.flat().length]),
    [
      ["prefixed", 12],
      ["list", 1],
    ],
  );
});

test("extends a prefix into a row that is much longer than the others", () => {
  const said = Array.from({ length: 300 }, (_, index) => index);
  const turns = [100, 200, 300].map((length, turn) =>
    sequenceOf([...said.slice(0, length), 900 + turn, 950, 960]),
  );
  const lengths = cutIntoPacks(groupByPrefix(turns), 1000).map(({ groups }) =>
    groups.map((group) => group.map(({ prefixLength, inputIds }) => [prefixLength, inputIds.length])),
  );
  assert.deepEqual(lengths, [
    [
      [
        [100, 102],
        [200, 202],
        [301, 302],
      ],
    ],
  ]);
});

test("reports rows of equal length if all unshared rows have it", () => {
  const kindsOf = (...lengths: readonly number[]): readonly string[] =>
    cutIntoPacks(
      groupByPrefix(
        lengths.map((length, index) => sequenceOf(Array.from({ length }, (_, at) => 100 * index + at))),
      ),
      120,
    ).map(({ kind }) => kind);
  assert.deepEqual(kindsOf(30, 30, 30, 30, 20, 20, 20, 20), ["rows", "rows"]);
  assert.deepEqual(kindsOf(30, 30, 30), ["list"]);
  assert.deepEqual(kindsOf(30, 30, 30, 30, 20), ["list", "list"]);
});

test("the same groups give the same packs", () => {
  const cut = (): readonly Pack<PackedSequence>[] => cutIntoPacks(groupByPrefix(problems(3)), 150);
  assert.deepEqual(cut(), cut());
  const none: readonly PrefixGroup<PackedSequence>[] = [];
  assert.deepEqual(cutIntoPacks(none, 150), []);
});
