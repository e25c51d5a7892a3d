import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultGrammarLimits } from "../../regex/limits.ts";
import { readLanguage } from "../language.ts";
import { CompiledConstraint } from "../matcher.ts";
import { grammar } from "../testing/make-constraints.ts";
import { allowedByTrying, idsOf } from "../testing/try-every-token.ts";
import { vocabularyOf } from "../testing/vocabularies.ts";

test("a walk borrowed from another state allows no exit where the lexeme cannot end", () => {
  const trie = vocabularyOf(["bx", "bx!", "cx!", "bcx!", "x!"]);
  // The rule `tail` is recursive and therefore not regular, so its text is not part of R's lexeme.
  const text = 'start: R tail\ntail: "x!" | "x(" tail ")"\nR: /a([^b!]|b[^!])[^!]*/';
  const read = () => readLanguage(grammar(text), defaultGrammarLimits);
  const constraint = new CompiledConstraint(read(), trie);
  const matcher = constraint.matcher();
  const a = 1 + "a".charCodeAt(0);
  assert.ok(matcher.accept(a));
  const mask = new Uint32Array(constraint.maskWords);
  matcher.mask(mask);
  // After "ab" one more character is required before the lexeme may end.
  assert.deepEqual(idsOf(mask), allowedByTrying(read(), trie, new TextEncoder().encode("a")));
});
