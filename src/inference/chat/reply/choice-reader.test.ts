// Tests that a choice read token by token gives the same text as a choice read as a whole.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { choiceReaders, type ChoicePiece, type ChoiceReaderOptions } from "./choice-reader.ts";
import { searchCount, searching } from "../../../base/domain/testing/search.ts";

const tokenizer = await loadTokenizer("test/fixtures/goldens/models/qwen3");
const idsOf = (text: string): readonly number[] => tokenizer.encode(text, { addSpecialTokens: false });
const [plain, other] = ["a", "b"].map((text) => idsOf(text)[0]);
const special = 2;

interface Reading {
  readonly stop: readonly string[];
  readonly includesStop: boolean;
  readonly minTokens: number;
  readonly stopTokenIds: readonly number[];
  readonly skipsSpecialTokens: boolean;
  readonly shownSpecialIds: readonly number[];
}

const plainReading: Reading = {
  stop: [],
  includesStop: false,
  minTokens: 0,
  stopTokenIds: [],
  skipsSpecialTokens: true,
  shownSpecialIds: [],
};

function optionsOf(reading: Reading): ChoiceReaderOptions {
  return {
    stops: { stops: reading.stop, includesStop: reading.includesStop },
    minTokens: reading.minTokens,
    stopTokenIds: new Set(reading.stopTokenIds),
    skipsSpecialTokens: reading.skipsSpecialTokens,
    shownSpecialIds: new Set(reading.shownSpecialIds),
    hasLogprobs: true,
  };
}

interface Read extends ChoicePiece {
  /** The decoded bytes of all log-probabilities, followed by the unfinished last character. */
  readonly bytesText: string;
}

/** Reads tokens in batches, and ends the choice unless a stop string has ended it. */
function read(batches: readonly (readonly number[])[], changes: Partial<Reading> = {}): Read {
  const reader = choiceReaders(tokenizer, optionsOf({ ...plainReading, ...changes }))();
  const pieces: ChoicePiece[] = [];
  for (const ids of batches) {
    const alternatives = [plain, other, special].map((id) => ({ id, logprob: -1 }));
    pieces.push(reader.take(ids.map((id) => ({ id, logprob: -1, alternatives }))));
    if (pieces.at(-1)?.matchedStop !== null) break;
  }
  const matchedStop = pieces.at(-1)?.matchedStop ?? null;
  const end = matchedStop === null ? reader.end() : { text: "", unfinished: "", matchedStop };
  const logprobs = pieces.flatMap((piece) => piece.logprobs);
  return {
    text: pieces.map((piece) => piece.text).join("") + end.text,
    tokenIds: pieces.flatMap((piece) => piece.tokenIds),
    logprobs,
    matchedStop: end.matchedStop,
    bytesText: Buffer.from(logprobs.flatMap(({ bytes }) => bytes)).toString() + end.unfinished,
  };
}

function textOf(ids: readonly number[], changes: Partial<Reading> = {}): string {
  return read([ids], changes).text;
}

test("gives a hidden token a name, but no bytes, in its log-probabilities", () => {
  assert.deepEqual([tokenizer.isSpecial(special), tokenizer.isSpecial(plain)], [true, false]);
  const { text, tokenIds, logprobs } = read([[special, other, plain]], { stopTokenIds: [plain] });
  const names = [special, other, plain].map((id) => tokenizer.tokenText(id));
  assert.deepEqual([text, tokenIds], ["b", [special, other, plain]]);
  assert.deepEqual(
    logprobs.map((logprob) => logprob.text),
    names,
  );
  assert.deepEqual(
    logprobs.map(({ bytes }) => bytes),
    [[], [98], []],
  );
  for (const { alternatives } of logprobs)
    assert.deepEqual(
      alternatives.map(({ text: name, bytes }) => [name, bytes]),
      [
        ["a", []],
        ["b", [98]],
        [names[0], []],
      ],
    );
});

test("shows special tokens that are not skipped, and always those that the parser needs", () => {
  const name = tokenizer.tokenText(special);
  assert.equal(textOf([plain, special, other]), "ab");
  assert.equal(textOf([plain, special, other], { skipsSpecialTokens: false }), `a${name}b`);
  assert.equal(textOf([plain, special, other, 1], { shownSpecialIds: [special] }), `a${name}b`);
});

test("shows the end token of a choice if stop strings are shown", () => {
  const name = tokenizer.tokenText(special);
  const ends = (end: number, changes: Partial<Reading>): string =>
    textOf([plain, end], { stopTokenIds: [end], ...changes });
  assert.equal(ends(other, {}), "a");
  assert.equal(ends(other, { includesStop: true }), "ab");
  assert.equal(ends(special, { includesStop: true }), "a");
  assert.equal(ends(special, { skipsSpecialTokens: false }), "a");
  assert.equal(ends(special, { includesStop: true, skipsSpecialTokens: false }), `a${name}`);
});

test("finds a stop string in the text of a special token that is shown", () => {
  const stop = [tokenizer.tokenText(special).slice(2, 5)];
  assert.equal(read([[plain, special, other]], { stop }).matchedStop, null);
  const shown = read([[plain, special, other]], { stop, skipsSpecialTokens: false });
  assert.deepEqual([shown.matchedStop, shown.text, shown.tokenIds], [stop[0], "a<|", [plain, special]]);
});

test("reports the stop string, not the stop token, if that token completes it", () => {
  const found = read([[plain, other]], { stop: ["ab"], stopTokenIds: [other], includesStop: true });
  assert.deepEqual([found.text, found.matchedStop], ["ab", "ab"]);
  assert.equal(read([[plain, other]], { stop: ["ab"], stopTokenIds: [other] }).matchedStop, null);
});

test("matches a stop string with the U+FFFD of an incomplete last character", () => {
  const [half] = idsOf("東");
  const found = read([[plain, half]], { stop: ["\ufffd"] });
  assert.deepEqual([found.text, found.matchedStop], ["a", "\ufffd"]);
});

interface Ending {
  readonly text: string;
  readonly tokenCount: number;
  readonly matchedStop: string | null;
}

/** Slow implementation for comparison: searches the whole text for each stop string at each position. */
function oracle(ids: readonly number[], reading: Reading): Ending {
  const isShown = (id: number): boolean =>
    (reading.includesStop || !reading.stopTokenIds.includes(id)) &&
    (!reading.skipsSpecialTokens || !tokenizer.isSpecial(id) || reading.shownSpecialIds.includes(id));
  const textAfter = (count: number): string =>
    tokenizer.decode(ids.slice(0, count).filter(isShown), { skipSpecialTokens: false });
  const whole = textAfter(ids.length);
  /** For each number of tokens, the length of the text that later tokens cannot change. */
  const certain = Array.from({ length: ids.length + 1 }, (_, count) => {
    const text = textAfter(count);
    let length = 0;
    while (length < text.length && text[length] === whole[length]) length += 1;
    return length;
  });
  for (let end = 1; end <= whole.length; end++) {
    const matchedStop = reading.stop.find((stop) => whole.slice(0, end).endsWith(stop));
    const tokenCount = certain.findIndex((length) => length >= end);
    if (matchedStop === undefined || tokenCount <= reading.minTokens) continue;
    const text = whole.slice(0, reading.includesStop ? end : end - matchedStop.length);
    return { text, tokenCount, matchedStop };
  }
  return { text: whole, tokenCount: ids.length, matchedStop: null };
}

test("reads the same text however tokens are batched", () => {
  const frequent = ["a", "b", "ab", " a", "東", "👍"].flatMap(idsOf);
  const id = fc.oneof(fc.constantFrom(...frequent, 0, 1, special), fc.integer({ min: 0, max: 430 }));
  const piece = fc.constantFrom("a", "b", " ", "東", "👍", "|", "im");
  const reading = fc.record<Reading>({
    stop: fc.array(fc.string({ unit: piece, minLength: 1, maxLength: 3 }), { maxLength: 3 }),
    includesStop: fc.boolean(),
    minTokens: fc.integer({ min: 0, max: 4 }),
    stopTokenIds: fc.subarray([plain, special], { maxLength: 1 }),
    skipsSpecialTokens: fc.boolean(),
    shownSpecialIds: fc.subarray([1, special]),
  });
  let matchedCount = 0;
  fc.assert(
    fc.property(fc.array(fc.array(id, { maxLength: 5 }), { maxLength: 8 }), reading, (batches, reading) => {
      const found = read(batches, reading);
      const ids = batches.flat();
      const expected = oracle(ids, reading);
      assert.equal(found.text, expected.text);
      assert.equal(found.matchedStop, expected.matchedStop);
      assert.deepEqual(found.tokenIds, ids.slice(0, expected.tokenCount), "tokens are not cut with the text");
      assert.deepEqual(
        found.logprobs.map(({ tokenId }) => tokenId),
        found.tokenIds,
      );
      if (found.matchedStop === null) assert.equal(found.bytesText, found.text);
      else matchedCount += 1;
    }),
    searching(1000),
  );
  assert.ok(matchedCount > searchCount(80), `${matchedCount} of the texts were ended by a stop string`);
});
