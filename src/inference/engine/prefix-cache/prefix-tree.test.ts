import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, type Random } from "../../../base/domain/random.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";
import { type BlockSpan, PrefixTree } from "./prefix-tree.ts";

/**
 * A tree together with the contents of its blocks, which are written as a user of the tree must write them. Reading the
 * blocks must then give the prompt.
 */
class WrittenTree {
  readonly tree: PrefixTree;
  readonly #blocks = new Map<string, string>();

  constructor(blockPositions: number, blockCountMax: number) {
    this.tree = new PrefixTree(blockPositions, blockCountMax);
  }

  add(scope: string, tokenIds: readonly number[], count = tokenIds.length): readonly BlockSpan[] {
    const spans = this.tree.add(scope, tokenIds, count);
    for (const { block, offset, start, count: size } of spans) {
      assert.ok(offset + size <= this.tree.blockPositions, "a span fits its block");
      for (let index = 0; index < size; index++) {
        this.#blocks.set(`${block} ${offset + index}`, historyOf(scope, tokenIds, start + index));
      }
    }
    return spans;
  }

  /** Returns the number of leading tokens that are cached, and checks the contents of each of their positions. */
  find(scope: string, tokenIds: readonly number[], countMax = tokenIds.length): number {
    let end = 0;
    for (const { block, offset, start, count } of this.tree.find(scope, tokenIds, countMax)) {
      assert.equal(start, end, "spans follow one another");
      for (let index = 0; index < count; index++) {
        assert.equal(
          this.#blocks.get(`${block} ${offset + index}`),
          historyOf(scope, tokenIds, start + index),
          "a block holds entries computed after the same tokens",
        );
      }
      end += count;
    }
    return end;
  }
}

/** Returns a text that identifies the keys and values of a position: the scope and all tokens up to the position. */
function historyOf(scope: string, tokenIds: readonly number[], position: number): string {
  return `${scope}: ${tokenIds.slice(0, position + 1).join(" ")}`;
}

const upTo = (end: number, start = 0): readonly number[] =>
  Array.from({ length: end - start }, (_, index) => start + index);

test("finds the longest cached prefix, to the token", () => {
  const tree = new WrittenTree(4, 100);
  tree.add("a", upTo(10));
  assert.equal(tree.find("a", upTo(20)), 10);
  assert.equal(tree.find("a", upTo(20), 9), 9);
  assert.equal(tree.find("a", [...upTo(6), 99, 7, 8]), 6);
  assert.equal(tree.find("a", [99]), 0);
  assert.equal(tree.find("b", upTo(20)), 0, "nothing is shared between scopes");
});

test("stores a prefix that two prompts share once", () => {
  const tree = new WrittenTree(4, 100);
  tree.add("a", upTo(10));
  assert.deepEqual(
    tree.add("a", [...upTo(6), 99, 98]).map(({ start, count }) => [start, count]),
    [[6, 2]],
  );
  assert.deepEqual(tree.add("a", upTo(10)), []);
  assert.equal(tree.tree.blockCount, 4);
  assert.equal(tree.find("a", upTo(10)), 10);
  assert.equal(tree.find("a", [...upTo(6), 99, 98]), 8);
});

test("continues a partly filled block in place, in addition to its other continuations", () => {
  const tree = new WrittenTree(4, 100);
  tree.add("a", upTo(2));
  tree.add("a", [0, 99]);
  tree.add("a", [...upTo(2), 50]);
  assert.equal(tree.tree.blockCount, 2);
  tree.add("a", [...upTo(2), 60]);
  tree.add("a", [...upTo(2), 50, 51, 52]);
  for (const prompt of [
    [0, 1, 50, 51, 52],
    [0, 99],
    [0, 1, 60],
  ])
    assert.equal(tree.find("a", prompt), prompt.length);
});

test("evicts the least recently used block first, and the end of a prompt before its beginning", () => {
  const tree = new WrittenTree(4, 4);
  tree.add("a", upTo(8));
  tree.add("b", upTo(8));
  tree.find("a", upTo(8));
  tree.add("c", upTo(4));
  assert.deepEqual([tree.find("a", upTo(8)), tree.find("b", upTo(8)), tree.find("c", upTo(4))], [8, 4, 4]);
});

test("keeps only the beginning of a prompt that is longer than all blocks", () => {
  const tree = new WrittenTree(4, 3);
  tree.add("b", upTo(8));
  tree.add("a", upTo(30));
  assert.deepEqual([tree.find("a", upTo(30)), tree.find("b", upTo(8))], [12, 0]);
});

test("reports the blocks that a lower limit evicts, and reuses no more of them", () => {
  const tree = new WrittenTree(4, 4);
  tree.add("a", upTo(8));
  tree.add("b", upTo(8));
  assert.equal(tree.tree.limit(3).length, 1);
  assert.deepEqual([tree.find("a", upTo(8)), tree.find("b", upTo(8))], [4, 8]);
  assert.equal(tree.tree.limit(0).length, 3);
  assert.deepEqual(tree.add("a", upTo(8)), []);
  assert.equal(tree.find("a", upTo(8)), 0);
});

/** A simple implementation for comparison: a list of positions that is searched from the start each time. */
class PlainTree {
  readonly #countMax: number;
  /** Cached positions with their histories, the least recently used first. */
  #kept: string[] = [];

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  find(scope: string, tokenIds: readonly number[], countMax: number): number {
    let count = 0;
    while (count < countMax && this.#kept.includes(historyOf(scope, tokenIds, count))) count += 1;
    this.#use(scope, tokenIds, count);
    return count;
  }

  add(scope: string, tokenIds: readonly number[], count: number): void {
    const kept = Math.min(count, this.#countMax);
    this.#use(scope, tokenIds, kept);
    this.limit(this.#countMax);
  }

  limit(countMax: number): void {
    this.#kept = this.#kept.slice(Math.max(0, this.#kept.length - countMax));
  }

  /** The last position comes first in the list, so that continuations are evicted before their prefix. */
  #use(scope: string, tokenIds: readonly number[], count: number): void {
    const used = Array.from({ length: count }, (_, index) => historyOf(scope, tokenIds, count - 1 - index));
    this.#kept = [...this.#kept.filter((history) => !used.includes(history)), ...used];
  }
}

const randomPrompt = (random: Random): readonly number[] =>
  Array.from({ length: random.index(12) }, () => random.index(2));

test("with blocks of one position, keeps the same as a plain list of recently used positions", () => {
  for (const seed of searchSeeds(60)) {
    const random = seededRandom("prefix tree", seed);
    const countMax = random.index(30);
    const tree = new WrittenTree(1, countMax);
    const plain = new PlainTree(countMax);
    for (let step = 0; step < 40; step++) {
      const scope = ["a", "b"][random.index(2)];
      const prompt = randomPrompt(random);
      const count = random.index(prompt.length + 1);
      if (random.index(2) === 0) {
        tree.add(scope, prompt, count);
        plain.add(scope, prompt, count);
      } else {
        const found = tree.find(scope, prompt, count);
        assert.equal(found, plain.find(scope, prompt, count), `seed ${seed}, step ${step}`);
      }
    }
  }
});

test("with blocks of any size, finds only what was written, and never exceeds the number of blocks", () => {
  for (const seed of searchSeeds(60)) {
    const random = seededRandom("prefix blocks", seed);
    let blockCountMax = random.index(12);
    const tree = new WrittenTree(1 + random.index(5), blockCountMax);
    for (let step = 0; step < 60; step++) {
      const scope = ["a", "b"][random.index(2)];
      const prompt = randomPrompt(random);
      const choice = random.index(9);
      if (choice === 0) {
        blockCountMax = random.index(12);
        tree.tree.limit(blockCountMax);
      } else if (choice < 5) {
        const before = tree.find(scope, prompt);
        const added = tree.add(scope, prompt).reduce((sum, { count }) => sum + count, 0);
        assert.equal(tree.find(scope, prompt), before + added, `seed ${seed}, step ${step}`);
      } else tree.find(scope, prompt);
      assert.ok(tree.tree.blockCount <= blockCountMax, `seed ${seed}, step ${step}`);
    }
  }
});
