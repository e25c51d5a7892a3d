// Checks whether Hone can serve a constraint, and explains a refusal. Also checks for each given instance whether a
// constrained answer could equal it. Works like the engine: computes the mask of the first token, and the next mask
// after each token of an instance, within the same limits.
import type { Clock } from "../../../base/domain/clock.ts";
import type { Constraint, ConstraintCheck, InstanceCheck, Refusal } from "../../../base/domain/constraint.ts";
import { parseExactJson } from "../../../base/domain/text/exact-json.ts";
import { ConstraintRefusal, defaultGrammarLimits, limitExceeded, withinStack } from "../regex/limits.ts";
import type { GrammarLimits } from "../regex/limits.ts";
import { readLanguage, grantStepsFor } from "./language.ts";
import { CompiledConstraint } from "./matcher.ts";
import { longestTokens } from "./trie/longest-tokens.ts";
import type { TokenTrie } from "./trie/token-trie.ts";

export interface CheckContext {
  readonly limits: GrammarLimits;
  readonly trie: TokenTrie;
  readonly clock: Clock;
}

/**
 * Checks a constraint, and each instance against it.
 *
 * @param instances for a JSON constraint, JSON values. Each is written with its properties in the schema's order and
 * without whitespace, so the constraint's options must allow JSON without whitespace. For any other constraint, texts
 * as JSON strings
 */
export function checkConstraint(
  constraint: Constraint,
  instances: readonly string[],
  means: CheckContext,
): ConstraintCheck {
  const { clock } = means;
  const startMs = clock.monotonicMs();
  let begun: CompiledConstraint;
  try {
    begun = compileAndMaskFirst(constraint, means);
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    const compileMs = clock.monotonicMs() - startMs;
    return { refusal: refusalOf(error), instances: [], notices: [], compileMs };
  }
  const compileMs = clock.monotonicMs() - startMs;
  const checkedAlone = (instance: string): InstanceCheck => {
    const found = checked(begun, instance);
    if (found.limit === null) return found;
    // Checks again with a newly compiled constraint, because earlier instances may have added states that a request
    // would not have.
    begun = compileAndMaskFirst(constraint, means);
    return checked(begun, instance);
  };
  const checks = instances.map(checkedAlone);
  const { notices } = begun.language;
  return { refusal: refusalAlong(checks, means.limits), instances: checks, notices, compileMs };
}

/**
 * Compiles the constraint and computes its first mask.
 *
 * @throws ConstraintRefusal if the constraint is refused or its first mask exceeds a limit
 */
function compileAndMaskFirst(constraint: Constraint, { limits, trie }: CheckContext): CompiledConstraint {
  const compiled = new CompiledConstraint(readLanguage(constraint, limits), trie);
  try {
    compiled.matcher().mask(new Uint32Array(compiled.maskWords));
  } catch (error) {
    if (!(error instanceof ConstraintRefusal) || !isLimit(error.subject)) throw error;
    throw limitExceeded(error.subject, limits[error.subject], "the first token");
  }
  return compiled;
}

function checked(compiled: CompiledConstraint, instance: string): InstanceCheck {
  const { limits, budget, textOf } = compiled.language;
  try {
    return withinStack(limits, () => {
      grantStepsFor(budget, instance.length);
      const value = parseExactJson(instance);
      const text = textOf === null ? value : textOf(value);
      if (typeof text === "string") return checkedText(compiled, new TextEncoder().encode(text));
      return { isAccepted: false, limit: null, place: "" };
    });
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    return { isAccepted: false, limit: error.subject, place: "" };
  }
}

/** Checks a text token by token, with the masks that its generation would use. */
function checkedText(compiled: CompiledConstraint, text: Uint8Array): InstanceCheck {
  const tokens = longestTokens(compiled.trie, text);
  const matcher = compiled.matcher();
  const mask = new Uint32Array(compiled.maskWords);
  let length = 0;
  try {
    for (const token of tokens ?? []) {
      matcher.mask(mask);
      const isAllowed = ((mask[token >>> 5] >>> (token & 31)) & 1) === 1;
      if (!isAllowed || !matcher.accept(token)) return { isAccepted: false, limit: null, place: "" };
      length += compiled.trie.bytesOf[token]?.length ?? 0;
    }
    matcher.mask(mask);
    return { isAccepted: tokens !== null && matcher.mayEnd, limit: null, place: "" };
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    return { isAccepted: false, limit: error.subject, place: describePosition(text.subarray(0, length)) };
  }
}

const shownBytes = 40;

function describePosition(text: Uint8Array): string {
  const shown = new TextDecoder().decode(text.subarray(-shownBytes));
  const isCut = text.length > shownBytes;
  return `byte ${text.length}${text.length === 0 ? "" : `, after ${isCut ? "…" : ""}${shown}`}`;
}

/** Returns a refusal if generating one of the instances exceeds a limit; null if none does. */
function refusalAlong(checks: readonly InstanceCheck[], limits: GrammarLimits): Refusal | null {
  for (const [index, { limit, place }] of checks.entries()) {
    if (limit === null || place === "" || !isLimit(limit)) continue;
    return refusalOf(limitExceeded(limit, limits[limit], `test ${index}, ${place}`));
  }
  return null;
}

const isLimit = (name: string): name is Parameters<typeof limitExceeded>[0] =>
  name in defaultGrammarLimits && name !== "strictFormats";

function refusalOf({ kind, subject, place, message }: ConstraintRefusal): Refusal {
  return { kind, subject, place, message };
}
