// Schemas of the kinds that people write, of the sizes that they write them in: served within the usual limits, with a
// mask for every token of a value, and right by another validator or by how they are made.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Constraint } from "../../domain/constraint.ts";
import { defaultGrammarLimits } from "../../regex/limits.ts";
import { accepts, readLanguage } from "../language.ts";
import { CompiledConstraint } from "../matcher.ts";
import { choice, jsonSchema } from "../testing/constraints.ts";
import { byteLevelTokens } from "../testing/vocabularies.ts";
import { buildTokenTrie } from "../trie/token-trie.ts";

const trie = buildTokenTrie({ bytes: byteLevelTokens(4_096) });

/** Writes the text byte by byte, each of which is a token, under the mask of each place. */
function write(constraint: Constraint, text: string): void {
  const compiled = new CompiledConstraint(readLanguage(constraint, defaultGrammarLimits), trie);
  const matcher = compiled.matcher();
  const mask = new Uint32Array(compiled.maskWords);
  for (const byte of new TextEncoder().encode(text)) {
    matcher.mask(mask);
    const token = trie.bytesOf.findIndex((bytes) => bytes?.length === 1 && bytes[0] === byte);
    assert.ok(((mask[token >>> 5] >>> (token & 31)) & 1) === 1, `${text}: byte ${byte}`);
    assert.ok(matcher.accept(token));
  }
  assert.ok(matcher.mayEnd, text);
}

test("serves one of ten thousand strings", () => {
  const texts = Array.from({ length: 10_000 }, (_, index) => {
    const number = (index * 7_919) % 1_000_003;
    return `${number.toString(36)}-é-${number}-item`.padEnd(22, "x");
  });
  const constraints: readonly (readonly [Constraint, (text: string) => string])[] = [
    [choice(...texts), String],
    [jsonSchema({ enum: texts }), (text) => JSON.stringify(text)],
    [
      jsonSchema({ properties: { a: { enum: texts } }, required: ["a"], type: "object" }),
      (text) => JSON.stringify({ a: text }),
    ],
  ];
  for (const [constraint, written] of constraints) {
    const language = readLanguage(constraint, defaultGrammarLimits);
    for (const text of texts.filter((_, index) => index % 997 === 0)) {
      assert.ok(accepts(language, written(text)), text);
      assert.ok(!accepts(language, written(`${text}x`)) && !accepts(language, written(text.slice(0, -1))));
    }
    write(constraint, written(texts[1_234]));
  }
});
