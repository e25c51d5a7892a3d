import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { packVocabulary, unpackVocabulary } from "../../../base/domain/vocabulary.ts";
import { checkMasks } from "./testing/check-masks.ts";
import { checkMoves } from "./testing/check-moves.ts";
import { checkWalks } from "./testing/check-walks.ts";
import { checkServed, randomConstraints, randomSchemas } from "./testing/random-constraints.ts";
import { byteFallbackTokens, byteLevelTokens } from "./testing/vocabularies.ts";
import type { Tokens } from "./testing/vocabularies.ts";
import { buildTokenTrie } from "./trie/token-trie.ts";
import { searchCount, searchSeed } from "../../../base/domain/testing/search.ts";

/** Packs and unpacks the vocabulary, because the engine receives it in packed form. */
const trieOf = (tokens: Tokens) => buildTokenTrie({ bytes: unpackVocabulary(packVocabulary(tokens)) });
const small = trieOf(byteLevelTokens(1_024));
const large = trieOf(byteLevelTokens(49_152));
const fallback = trieOf(byteFallbackTokens(1_024));

test("masks of random constraints allow exactly the tokens that Earley's recognizer accepts", () => {
  const random = seededRandom(searchSeed, "masks");
  let triedCount = 0;
  checkServed(randomConstraints, { seed: searchSeed, count: searchCount(25) }, (constraint) => {
    triedCount += checkMasks(constraint, [small, large, fallback], {
      random,
      placeCount: 1,
      triedTokenCount: 120,
    });
  });
  assert.equal(triedCount, searchCount(9_000));
});

test("masks for a large vocabulary allow exactly the tokens that Earley's recognizer accepts", () => {
  const random = seededRandom(searchSeed, "a large vocabulary");
  checkServed(randomConstraints, { seed: searchSeed + 1, count: searchCount(3) }, (constraint) => {
    checkMasks(constraint, [large], { random, placeCount: 1, triedTokenCount: large.tokenCount });
  });
});

test("random texts under random schemas reach no dead end and are valid when finished", () => {
  const random = seededRandom(searchSeed, "walks");
  let judgedCount = 0;
  checkServed(randomSchemas, { seed: searchSeed, count: searchCount(30) }, (schema) => {
    const trie = random.index(2) === 0 ? small : fallback;
    judgedCount += checkWalks(schema, trie, { random, walkCount: 4 }).judged;
  });
  assert.ok(judgedCount > searchCount(75), `${judgedCount} texts came to an end`);
});

test("matchers that were forked and rolled back equal fresh ones", () => {
  const random = seededRandom(searchSeed, "moves");
  checkServed(randomConstraints, { seed: searchSeed + 2, count: searchCount(15) }, (constraint) => {
    checkMoves(constraint, small, { random, moveCount: 20 });
  });
});
