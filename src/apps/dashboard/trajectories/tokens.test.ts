// Tests of the displayed tokens: characters of several tokens, probability levels, and formatted numbers.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  drawnText,
  glyphText,
  levelBounds,
  levelOf,
  meanLogprob,
  probabilityText,
  shownTokens,
  visibleText,
} from "./tokens.ts";

const bytesOf = (text: string): readonly number[] => [...new TextEncoder().encode(text)];

test("shows a character of several tokens at the last of them", () => {
  const bytes = bytesOf("a👍b");
  const parts = [bytes.slice(0, 3), bytes.slice(3, 5), bytes.slice(5)];
  const tokens = shownTokens(parts.map((part) => ({ token: "?", logprob: -1, bytes: part })));
  assert.deepEqual(
    tokens.map(({ text }) => text),
    ["a", "👍", "b"],
  );
});

test("shows a token without bytes as its text, or as its id", () => {
  const tokens = shownTokens([
    { token: " yes", logprob: -0.1, top_logprobs: [{ token: "no", logprob: -3 }] },
    { token: "token_id:42", bytes: null },
  ]);
  assert.deepEqual(tokens, [
    { text: " yes", isTextless: false, logprob: -0.1, level: 0, alternatives: [{ text: "no", logprob: -3 }] },
    { text: "⟨42⟩", isTextless: false, logprob: null, level: null, alternatives: [] },
  ]);
});

test("shows a mark for a token without text, but not for a part of a character", () => {
  const bytes = bytesOf("👍");
  const tokens = shownTokens([
    { token: "", bytes: [] },
    { token: "?", bytes: bytes.slice(0, 2), top_logprobs: [{ token: "", bytes: [] }] },
    { token: "?", bytes: bytes.slice(2) },
    { token: "", logprob: -6.6 },
  ]);
  assert.deepEqual(
    tokens.map((token, index) => drawnText(token, index === tokens.length - 1)),
    ["⟨no text⟩", "", "👍", "⟨end⟩"],
  );
  assert.equal(tokens[1]?.alternatives[0]?.text, "⟨no text⟩");
});

test("includes each level's lower bound in the level", () => {
  for (const [level, bound] of levelBounds.entries()) {
    assert.equal(levelOf(Math.log(bound) + 1e-9), level);
    assert.equal(levelOf(Math.log(bound) - 1e-9), level + 1);
  }
  assert.equal(levelOf(-Infinity), levelBounds.length);
});

test("formats a probability as logarithm and as percentage", () => {
  assert.equal(probabilityText(0), "0.000 (100.0 %)");
  assert.equal(probabilityText(-0.0001), "0.000 (100.0 %)");
  assert.equal(probabilityText(Math.log(0.25)), "−1.386 (25.0 %)");
  assert.equal(probabilityText(Math.log(0.0314)), "−3.461 (3.14 %)");
  assert.equal(probabilityText(-9999), "−9999.000 (under 0.001 %)");
  assert.equal(probabilityText(null), "unknown");
});

test("averages only the known log-probabilities", () => {
  assert.equal(meanLogprob([{ logprob: -1 }, { logprob: null }, { logprob: -2 }]), -1.5);
  assert.equal(meanLogprob([{ logprob: null }]), null);
});

test("marks line breaks, and spaces that are a whole token, without removing the line breaks", () => {
  assert.deepEqual(["\n\n", " ", " a b", "x\ty\n"].map(glyphText), ["⏎\n⏎\n", "␣", " a b", "x⇥\ty⏎\n"]);
});

test("shows whitespace in tokens as visible characters", () => {
  assert.equal(visibleText(" a\n\tb"), "␣a⏎⇥b");
});
