import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../domain/random.ts";
import { packVocabulary, unpackVocabulary } from "../domain/vocabulary.ts";
import { checkMasks } from "./testing/check-masks.ts";
import { checkMoves, checkMustComeNext } from "./testing/check-moves.ts";
import { checkWalks } from "./testing/check-walks.ts";
import { checkServed, randomConstraints, randomSchemas } from "./testing/random-constraints.ts";
import { byteFallbackTokens, byteLevelTokens } from "./testing/vocabularies.ts";
import type { Tokens } from "./testing/vocabularies.ts";
import { buildTokenTrie } from "./trie/token-trie.ts";

const seed = Number(process.env.SEED ?? 20_261_122);

/** As it reaches the engine. */
const trieOf = (tokens: Tokens) => buildTokenTrie({ bytes: unpackVocabulary(packVocabulary(tokens)) });
const small = trieOf(byteLevelTokens(1_024));
const large = trieOf(byteLevelTokens(49_152));
const fallback = trieOf(byteFallbackTokens(1_024));

// `node dist/bench/grammar-proof.js` tries every token at more places.
test("masks of 500 random constraints allow what Earley's recogniser takes", () => {
  const random = seededRandom(seed, "masks");
  let triedCount = 0;
  checkServed(randomConstraints, { seed, count: 500 }, (constraint) => {
    triedCount += checkMasks(constraint, [small, large, fallback], {
      random,
      placeCount: 1,
      triedTokenCount: 120,
    });
  });
  assert.equal(triedCount, 180_000);
});

test("masks of the large vocabulary allow what Earley's recogniser takes, token by token", () => {
  const random = seededRandom(seed, "a large vocabulary");
  checkServed(randomConstraints, { seed: seed + 1, count: 8 }, (constraint) => {
    checkMasks(constraint, [large], { random, placeCount: 1, triedTokenCount: large.tokenCount });
  });
});

test("1,000 random texts under random schemas meet no dead end, and are valid once they end", () => {
  const random = seededRandom(seed, "walks");
  let judgedCount = 0;
  checkServed(randomSchemas, { seed, count: 250 }, (schema) => {
    const trie = random.index(2) === 0 ? small : fallback;
    judgedCount += checkWalks(schema, trie, { random, walkCount: 4 }).judged;
  });
  assert.ok(judgedCount > 800, `${judgedCount} texts came to an end`);
});

test("matchers that fork and roll back are where fresh ones are", () => {
  const random = seededRandom(seed, "moves");
  checkServed(randomConstraints, { seed: seed + 2, count: 80 }, (constraint) => {
    checkMoves(constraint, small, { random, moveCount: 20 });
  });
});

test("what must come next is the only way on, as far as it goes", () => {
  const random = seededRandom(seed, "what must come next");
  let forcedCount = 0;
  checkServed(randomConstraints, { seed: seed + 3, count: 100 }, (constraint) => {
    forcedCount += checkMustComeNext(constraint, small, random);
  });
  assert.ok(forcedCount > 200, `${forcedCount} bytes were said to come`);
});
