// Says of a constraint whether it is served and why not, and of instances whether an answer under it could say them. Does
// what the engine does of it for an answer: finds the tokens of a vocabulary that may come first, and next behind each
// token of an instance, within the same limits.
import type { Clock } from "../../../base/domain/clock.ts";
import type { Constraint, ConstraintCheck, InstanceCheck, Refusal } from "../../../base/domain/constraint.ts";
import { parseExactJson } from "../../../base/domain/text/exact-json.ts";
import { ConstraintRefusal, defaultGrammarLimits, limitExceeded, withinStack } from "../regex/limits.ts";
import type { GrammarLimits } from "../regex/limits.ts";
import { readLanguage, restartFor } from "./language.ts";
import { CompiledConstraint } from "./matcher.ts";
import { longestTokens } from "./trie/longest-tokens.ts";
import type { TokenTrie } from "./trie/token-trie.ts";

export interface CheckMeans {
  readonly limits: GrammarLimits;
  readonly trie: TokenTrie;
  readonly clock: Clock;
}

/**
 * Checks a constraint.
 *
 * @param instances the JSON of values for a constraint of JSON: each is written with its properties in the schema's order
 *   and without blanks, which the constraint's options must allow; the JSON of texts for any other constraint
 */
export function checkConstraint(
  constraint: Constraint,
  instances: readonly string[],
  means: CheckMeans,
): ConstraintCheck {
  const { clock } = means;
  const startMs = clock.monotonicMs();
  let begun: CompiledConstraint;
  try {
    begun = beginning(constraint, means);
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    const compileMs = clock.monotonicMs() - startMs;
    return { refusal: refusalOf(error), instances: [], notices: [], compileMs };
  }
  const compileMs = clock.monotonicMs() - startMs;
  const checkedAlone = (instance: string): InstanceCheck => {
    const found = checked(begun, instance);
    if (found.limit === null) return found;
    // It may be full of what other instances led to, which a request would not be.
    begun = beginning(constraint, means);
    return checked(begun, instance);
  };
  const checks = instances.map(checkedAlone);
  const { notices } = begun.language;
  return { refusal: refusalAlong(checks, means.limits), instances: checks, notices, compileMs };
}

/** A constraint whose first mask is known. @throws ConstraintRefusal also where there is none */
function beginning(constraint: Constraint, { limits, trie }: CheckMeans): CompiledConstraint {
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
      restartFor(budget, instance.length);
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

/** Writes a text token by token, as an answer comes. */
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
    return { isAccepted: false, limit: error.subject, place: behind(text.subarray(0, length)) };
  }
}

const shownBytes = 40;

function behind(text: Uint8Array): string {
  const shown = new TextDecoder().decode(text.subarray(-shownBytes));
  const isCut = text.length > shownBytes;
  return `byte ${text.length}${text.length === 0 ? "" : `, behind ${isCut ? "…" : ""}${shown}`}`;
}

/** Of a constraint whose answers cannot all be written, as one of the instances shows; null where none does. */
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
