import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { readLanguage } from "../../../lib/constraints/grammar/language.ts";
import { CompiledConstraint } from "../../../lib/constraints/grammar/matcher.ts";
import { choice, jsonSchema, regex } from "../../../lib/constraints/grammar/testing/make-constraints.ts";
import { vocabularyOf } from "../../../lib/constraints/grammar/testing/vocabularies.ts";
import { randomWalk } from "../../../lib/constraints/grammar/testing/walk.ts";
import { defaultGrammarLimits } from "../../../lib/constraints/regex/limits.ts";
import { ConstraintCache } from "./constraint-cache.ts";

const trie = vocabularyOf(["ab", "abc"]);
const compile = (pattern: string) => () =>
  new CompiledConstraint(readLanguage(regex(pattern), defaultGrammarLimits), trie);
const bytesOf = (pattern: string): number => compile(pattern)().byteLength;

test("keeps the most recently used if not all fit, and evicts nothing in use", () => {
  const cache = new ConstraintCache(bytesOf("a") + bytesOf("b") + bytesOf("c"));
  const held = cache.take("a", compile("a"));
  for (const pattern of ["b", "c", "b", "d"]) cache.giveBack(cache.take(pattern, compile(pattern)));
  const isKept = (pattern: string): boolean => {
    const before = cache.counts.hits;
    cache.giveBack(cache.take(pattern, compile(pattern)));
    return cache.counts.hits > before;
  };
  assert.deepEqual(["a", "b", "d", "c"].map(isKept), [true, true, true, false]);
  assert.deepEqual([cache.counts.hits, cache.counts.misses], [4, 5]);
  assert.equal(cache.take("a", compile("a")), held);
  assert.ok(cache.counts.bytes <= bytesOf("a") + bytesOf("b") + bytesOf("c"));
});

test("a forgotten constraint stays with its users, and the next request compiles anew", () => {
  const cache = new ConstraintCache(2 ** 30);
  const old = cache.take("a", compile("a"));
  cache.forget(old);
  const anew = cache.take("a", compile("a"));
  assert.notEqual(anew, old);
  assert.equal(cache.counts.bytes, 2 * bytesOf("a"));
  cache.forget(old);
  cache.giveBack(old);
  assert.equal(cache.counts.bytes, bytesOf("a"));
  assert.equal(cache.take("a", compile("a")), anew);
});

test("reports a lack of room for the largest constraint in use", () => {
  const large = "a(bc|de){2,9}|[f-k]+";
  const cache = new ConstraintCache(bytesOf(large));
  const first = cache.take("large", compile(large));
  assert.ok(cache.measure(first));
  const second = cache.take("small", compile("a"));
  assert.deepEqual(
    [first, second].map((constraint) => cache.measure(constraint)),
    [false, true],
  );
});

test("a failed compilation leaves nothing behind", () => {
  const cache = new ConstraintCache(2 ** 30);
  assert.throws(() => cache.take("(", compile("(")));
  assert.equal(cache.counts.bytes, 0);
});

test("a constraint's reported size is close to its real size", () => {
  setFlagsFromString("--expose-gc");
  // In contexts created after the flag was set, the global name `gc` refers to V8's garbage collection.
  const collect = runInNewContext("gc") as () => void;
  const used = (): number => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const properties = (prefix: number) =>
    Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`p${prefix}${index}`, { type: "string" }]));
  const make = (index: number): CompiledConstraint => {
    const schema = { type: "object", properties: properties(index) };
    const constraint = index % 2 === 0 ? jsonSchema(schema) : choice(...Object.keys(properties(index)));
    const compiled = new CompiledConstraint(readLanguage(constraint, defaultGrammarLimits), trie);
    let state = index + 1;
    randomWalk(compiled, () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647, 60);
    return compiled;
  };
  make(0);
  const before = used();
  const all = Array.from({ length: 60 }, (_, index) => make(index));
  const taken = used() - before;
  const said = all.reduce((sum, { byteLength }) => sum + byteLength, 0);
  assert.ok(said > taken / 2 && said < taken * 2, `${said} bytes of ${taken}`);
});
