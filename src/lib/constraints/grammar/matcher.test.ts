import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { readLanguage } from "./language.ts";
import { defaultGrammarLimits } from "../regex/limits.ts";
import { CompiledConstraint } from "./matcher.ts";
import type { Constraint } from "../../../base/domain/constraint.ts";
import type { Json } from "../../../base/domain/text/json.ts";
import { checkMasksAlong } from "./testing/check-along.ts";
import { choice, grammar, jsonSchema, regex } from "./testing/make-constraints.ts";
import { allowedByTrying, idsOf } from "./testing/try-every-token.ts";
import { vocabularyOf, vocabularyOfFile } from "./testing/vocabularies.ts";
import { randomWalk } from "./testing/walk.ts";
import { searching } from "../../../base/domain/testing/search.ts";

const vocabulary = vocabularyOf([
  "ab",
  "abc",
  "a",
  "bb",
  "b1",
  "11",
  "é",
  "éa",
  "\u{1F600}",
  "  ",
  "cab",
  "-1",
  "abcabcabc",
  '"ab',
  'b":',
  '", "',
  "\\u00",
]);

const compiled = (constraint: Constraint): CompiledConstraint =>
  new CompiledConstraint(readLanguage(constraint, defaultGrammarLimits), vocabulary);

function allowed(constraint: CompiledConstraint, text: string): readonly string[] {
  const matcher = constraint.matcher();
  for (const byte of new TextEncoder().encode(text)) assert.ok(matcher.accept(byte + 1), text);
  const mask = new Uint32Array(constraint.maskWords);
  matcher.mask(mask);
  return idsOf(mask).map((id) => new TextDecoder().decode(vocabulary.bytesOf[id] ?? undefined));
}

test("a choice allows the tokens that begin one of its texts, also if two tokens have the same bytes", () => {
  const constraint = compiled(choice("abc", "abcabcabc", "b1"));
  assert.deepEqual(allowed(constraint, ""), ["a", "b", "ab", "abc", "a", "b1", "abcabcabc", "ab"]);
  assert.deepEqual(allowed(constraint, "abc"), ["a", "ab", "abc", "a", "ab"]);
});

const constraints: readonly Constraint[] = [
  regex("[ab]*1?"),
  regex("(abc)+|\\d{2,}"),
  regex("\\w+ \\w+"),
  regex("(?=.*b)[a-c1]{3,6}"),
  regex("[^a]*a.{2}"),
  regex("(?!abc)[abc]{0,9}"),
  choice("abc", "ab", "é", "éa", "😀"),
  // Repetition counts near the length of a token, and far above it.
  regex("(?:a|b1){14,30}"),
  jsonSchema({ type: "string", minLength: 12, maxLength: 40 }),
  jsonSchema({ type: "array", items: { type: "string", maxLength: 11, pattern: "^[^1]*$" } }),
  jsonSchema({
    properties: { abc: { type: "string" }, b1: { enum: ["ab", "abc"] } },
    type: "object",
  }),
];

test("masks equal those found by trying each token, no matter which requests came before", () => {
  const shared = constraints.map(compiled);
  fc.assert(
    fc.property(
      fc.nat(constraints.length - 1),
      fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
      (which, draws) => {
        const constraint = shared[which];
        const walk = randomWalk(constraint, () => draws.next().value, 12);
        const fresh = () => readLanguage(constraints[which], defaultGrammarLimits);
        checkMasksAlong(constraint, walk.tokens, { fresh, name: `constraint ${which}` });
      },
    ),
    searching(30),
  );
});

/**
 * Before each byte of a text, compares the mask of a shared constraint with the mask of a newly compiled constraint.
 */
function checkAlong(constraint: Constraint, tokens: readonly string[], text: string): void {
  const language = () => readLanguage(constraint, defaultGrammarLimits);
  const shared = new CompiledConstraint(language(), vocabularyOf(tokens));
  // In this vocabulary, token n + 1 is the single byte n.
  const byteTokens = Array.from(new TextEncoder().encode(text), (byte) => byte + 1);
  checkMasksAlong(shared, byteTokens, { fresh: language, name: text });
}

test("distinguishes repetition counts that a token can reach", () => {
  const runs = ["aaaa", "aaaaaaaa", 'aaa"', "aéa"];
  checkAlong(jsonSchema({ type: "string", minLength: 14, maxLength: 24 }), runs, `"${"a".repeat(24)}"`);
  checkAlong(regex("(?:aa){12}b?"), [...runs, "ab"], `${"a".repeat(24)}b`);
  checkAlong(regex("(?:ca{0,40}){0,4}"), ["cc", "cccccccc"], "caac");
});

test("the same lexeme has different masks at different nesting depths", () => {
  const schema: Json = { anyOf: [{ type: "string" }, { type: "array", items: { $ref: "#" } }] };
  checkAlong(jsonSchema(schema), ['"]', '"]]', '","', 'x"]', "]]", '"],'], '[["x"],"y",["",["z"]]]');
});

test("a lexeme that accepts everything may end at any position", () => {
  checkAlong(regex("[^]*"), ["ab", "a1", "11"], "ab1");
  const text = 'root ::= [^1]* rest\nrest ::= "1" rest "2" | ""';
  checkAlong(grammar(text), ["ab", "a1", "a11", "112", "2"], "ab1122");
});

test("masks of real tokenizers equal those found by trying each token", () => {
  const properties = { name: { type: "string" }, age: { type: "integer", maximum: 150 } };
  const schema = { type: "object", properties, required: ["name"] };
  for (const path of ["models/hone-tiny", "test/fixtures/goldens/models/qwen3"]) {
    const trie = vocabularyOfFile(`${path}/tokenizer.json`);
    const constraint = new CompiledConstraint(readLanguage(jsonSchema(schema), defaultGrammarLimits), trie);
    let state = 11;
    const draw = () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
    const { tokens } = randomWalk(constraint, draw, 40);
    assert.ok(tokens.length > 3);
    const matcher = constraint.matcher();
    const mask = new Uint32Array(constraint.maskWords + 2);
    const taken: number[] = [];
    for (const token of tokens) {
      matcher.mask(mask.fill(0xffff_ffff));
      assert.deepEqual(idsOf(mask), allowedByTrying(constraint.language, trie, Uint8Array.from(taken)));
      taken.push(...(trie.bytesOf[token] ?? []));
      assert.ok(matcher.accept(token));
    }
  }
});

test("forks are independent, and a rollback restores the earlier position", () => {
  const matcher = compiled(regex("a(b1|bb)c?")).matcher();
  assert.ok(matcher.accept(98));
  const fork = matcher.fork();
  assert.ok(matcher.accept(99));
  assert.ok(matcher.accept(50));
  assert.ok(matcher.mayEnd && !matcher.mustEnd);
  assert.ok(fork.accept(99) && fork.accept(99) && !fork.accept(50));
  matcher.rollback(1);
  assert.ok(!matcher.mayEnd && matcher.accept(99) && matcher.accept(100) && matcher.mustEnd);
});

test("never accepts control tokens or ids outside the vocabulary", () => {
  const matcher = compiled(regex("[^]*")).matcher();
  assert.ok(!matcher.accept(0) && !matcher.accept(9_999));
});

test("refuses a mask that exceeds a limit, and names the limit", () => {
  const language = readLanguage(regex("[ab]*a[ab]{30}"), { ...defaultGrammarLimits, maskSteps: 3 });
  const constraint = new CompiledConstraint(language, vocabulary);
  assert.throws(() => constraint.matcher().mask(new Uint32Array(constraint.maskWords)), /maskSteps/);
});

test("a long text under a pattern and a length limit visits few states", () => {
  const schema = { type: "string", pattern: "^[a-z]+( [a-z]+)*$", minLength: 1, maxLength: 3_000 };
  const limits = { ...defaultGrammarLimits, states: 22_000 };
  const tiny = vocabularyOfFile("models/hone-tiny/tokenizer.json");
  const constraint = new CompiledConstraint(readLanguage(jsonSchema(schema), limits), tiny);
  const matcher = constraint.matcher();
  const mask = new Uint32Array(constraint.maskWords);
  for (const byte of Buffer.from(`"${"some words ".repeat(250)}x"`)) {
    matcher.mask(mask);
    const token = tiny.bytesOf.findIndex((bytes) => bytes?.length === 1 && bytes[0] === byte);
    assert.ok(matcher.accept(token));
  }
  assert.ok(matcher.mayEnd);
});
