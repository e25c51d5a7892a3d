// Contract tests that every constraint backend must pass: a mask equals the result of trying every token, cursors of
// one constraint are independent, and unsupported constraints are refused by name.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemClock } from "../../../../base/domain/clock.ts";
import type { Constraint } from "../../../../base/domain/constraint.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { readLanguage } from "../../../../lib/constraints/grammar/language.ts";
import {
  choice,
  grammar,
  jsonSchema,
  regex,
} from "../../../../lib/constraints/grammar/testing/make-constraints.ts";
import { allowedByTrying, idsOf } from "../../../../lib/constraints/grammar/testing/try-every-token.ts";
import { tokensOfFile } from "../../../../lib/constraints/grammar/testing/vocabularies.ts";
import { buildTokenTrie } from "../../../../lib/constraints/grammar/trie/token-trie.ts";
import { defaultGrammarLimits } from "../../../../lib/constraints/regex/limits.ts";
import type {
  ConstraintCursor,
  ConstraintBackend,
  PreparedConstraint,
  TokenMask,
} from "../constraint-backend.ts";
import type { ConstraintSettings } from "../settings.ts";

export const tokens = tokensOfFile("test/fixtures/goldens/models/qwen3/tokenizer.json");
export const trie = buildTokenTrie({ bytes: tokens });
/** A constraint that is cheap to compile. After a few tokens, however, each of its masks takes a thousand steps. */
export const costlyMasks = grammar(
  'root ::= "ca" (a | b | c)+\na ::= [a-z]+ [ ]? a? b?\nb ::= [a-m]+ [ ]? c? a?\nc ::= [c-z]* "x" c? | [a-z]',
);
/** A constraint whose compilation exceeds the cost limit of the quick thread. */
export const costlyToCompile = choice(
  ...Array.from({ length: 1000 }, (_, index) => `choice ${index * 7919}`),
);

export interface BackendUnderTest {
  readonly name: string;
  readonly make: (settings: Partial<ConstraintSettings>) => ConstraintBackend;
}

const neverAborted = new AbortController().signal;

export function prepare(
  constraints: ConstraintBackend,
  constraint: Constraint,
  signal = neverAborted,
): Promise<PreparedConstraint> {
  return constraints.prepare(constraint, { signal });
}

/** Waits until the next mask is ready, and returns it. */
export async function nextMask(cursor: ConstraintCursor): Promise<TokenMask> {
  for (;;) {
    const mask = cursor.next();
    if (mask !== null) return mask;
    cursor.waitUntil(systemClock.monotonicMs() + 5);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/**
 * Follows a text byte by byte, and compares each mask with the result of trying every token. The vocabulary has a token
 * for each byte.
 */
export async function followText(
  cursor: ConstraintCursor,
  constraint: Constraint,
  text: string,
): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at <= bytes.length; at++) {
    const { allowed, mayEnd } = await nextMask(cursor);
    const language = readLanguage(constraint, defaultGrammarLimits);
    assert.deepEqual(idsOf(allowed), allowedByTrying(language, trie, bytes.slice(0, at)), text.slice(0, at));
    assert.equal(mayEnd, at === bytes.length, text.slice(0, at));
    if (at < bytes.length)
      cursor.accept(tokens.findIndex((token) => token?.length === 1 && token[0] === bytes[at]));
  }
}

export function checkConstraintBackend({ name, make }: BackendUnderTest): void {
  const made: ConstraintBackend[] = [];
  const create = (settings: Partial<ConstraintSettings> = {}): ConstraintBackend => {
    const constraints = make(settings);
    made.push(constraints);
    return constraints;
  };
  after(() => Promise.all(made.map((constraints) => constraints.close())));

  test(`${name}: masks equal those of trying every token`, async () => {
    const constraints = create();
    for (const [constraint, text] of [
      [regex("[a-c]+x"), "abcx"],
      [choice("yes", "no"), "no"],
      [jsonSchema({ type: "object", properties: { a: { type: "integer" } }, required: ["a"] }), '{"a":10}'],
      [costlyToCompile, "choice 7919"],
    ] as const) {
      const prepared = await prepare(constraints, constraint);
      const cursor = prepared.open();
      if (constraint === costlyToCompile) cursor.close();
      else await followText(cursor, constraint, text);
      prepared.release();
      prepared.release();
    }
  });

  test(`${name}: cursors of one constraint are independent, and a closed one can be opened again`, async () => {
    const constraints = create();
    const constraint = regex("ab|cd");
    const prepared = await prepare(constraints, constraint);
    const abandoned = prepared.open();
    await nextMask(abandoned);
    abandoned.accept(tokens.findIndex((token) => token?.length === 1 && token[0] === 0x61));
    abandoned.close();
    abandoned.close();
    const [one, other] = [prepared.open(), prepared.open()];
    await Promise.all([followText(one, constraint, "ab"), followText(other, constraint, "cd")]);
    for (const cursor of [one, other]) cursor.close();
    prepared.release();
  });

  test(`${name}: refuses a constraint that cannot be served, and still accepts others`, async () => {
    const constraints = create();
    await assert.rejects(prepare(constraints, regex("(a)\\1")), isRefusal(/back reference/));
    await followText((await prepare(constraints, choice("b"))).open(), choice("b"), "b");
  });

  test(`${name}: names an exceeded limit with its value`, async () => {
    const tooLong = prepare(create({ sourceBytes: 10 }), choice("a text beyond it"));
    await assert.rejects(tooLong, isRefusal(/limit sourceBytes of 10\b/));
    const tooCostly = prepare(create({ compileSteps: 20 }), costlyToCompile);
    await assert.rejects(tooCostly, isRefusal(/limit compileSteps of 20\b/));
    const prepared = await prepare(create({ maskSteps: 20 }), costlyMasks);
    const cursor = prepared.open();
    await assert.rejects(nextMask(cursor), isRefusal(/limit maskSteps of 20\b/));
    cursor.close();
    prepared.release();
  });

  test(`${name}: does not prepare a constraint that is aborted while it waits`, async () => {
    const constraints = create();
    const abort = new AbortController();
    const dropped = prepare(constraints, choice("a"), abort.signal);
    const kept = prepare(constraints, choice("b"));
    abort.abort(new Error("given up"));
    await assert.rejects(dropped, /given up/);
    await followText((await kept).open(), choice("b"), "b");
  });
}

function isRefusal(message: RegExp): (error: unknown) => boolean {
  return (error) =>
    error instanceof ServiceError && error.code === "unsupported" && message.test(error.message);
}
