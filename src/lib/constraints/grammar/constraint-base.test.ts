import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultGrammarLimits } from "../regex/limits.ts";
import { constraintBase } from "./constraint-base.ts";
import { readLanguage } from "./language.ts";
import { CompiledConstraint } from "./matcher.ts";
import { jsonSchema, regex } from "./testing/make-constraints.ts";
import { byteLevelTokens } from "./testing/vocabularies.ts";
import { longestTokens } from "./trie/longest-tokens.ts";
import { buildTokenTrie } from "./trie/token-trie.ts";

const trie = buildTokenTrie({ bytes: byteLevelTokens(4_096) });

/** Accepts a text token by token. Returns the mask before each token. */
function follow(compiled: CompiledConstraint, text: string): readonly Uint32Array[] {
  const matcher = compiled.matcher();
  return (longestTokens(trie, new TextEncoder().encode(text)) ?? []).map((token) => {
    const mask = new Uint32Array(compiled.maskWords);
    matcher.mask(mask);
    assert.ok(matcher.accept(token), text);
    return mask;
  });
}

const schema = {
  type: "object",
  properties: { name: { type: "string", maxLength: 20 }, count: { type: "integer" } },
  additionalProperties: { type: "array", items: { type: "number" } },
};
const text = '{"name":"a \\"b\\" é","count":12,"other \\u0041":[1.5,-2e3]}';

test("compiling and using constraints leaves the shared base unchanged", () => {
  const { automaton, expressions } = constraintBase();
  const size = () => [automaton.byteLength, expressions.byteLength];
  const before = size();
  const masks = follow(
    new CompiledConstraint(readLanguage(jsonSchema(schema), defaultGrammarLimits), trie),
    text,
  );
  follow(
    new CompiledConstraint(readLanguage(regex("[a-z]+@[a-z]+\\.(com|org)"), defaultGrammarLimits), trie),
    "me@a.org",
  );
  const again = new CompiledConstraint(readLanguage(jsonSchema(schema), defaultGrammarLimits), trie);
  assert.deepEqual(follow(again, text), masks);
  assert.deepEqual(size(), before);
});

test("limits count only the states that a constraint adds to the base", () => {
  const states = 30;
  const language = readLanguage(regex("[ab]{5}"), { ...defaultGrammarLimits, states });
  follow(new CompiledConstraint(language, trie), "abbab");
  assert.throws(
    () => readLanguage(regex("[ab]{40}c{40}d{40}e"), { ...defaultGrammarLimits, states: 3 }),
    /states/,
  );
});
