// Compiles a pattern to an expression over bytes.
// - Assertions are resolved from right to left, since each subpattern then knows what the rest of the text must match.
// `$` requires an empty rest, and a look-ahead is intersected with the rest.
// - For look-behinds, each subpattern's matches are divided into classes by their last character, and each class is
// compiled separately.
import { unreachable } from "../../../base/domain/assert.ts";
import type { Spelling } from "./characters/spelling.ts";
import { allCharacters, intersectPoints, complementPoints } from "./characters/code-points.ts";
import type { CodePoints } from "./characters/code-points.ts";
import type { Expression, Expressions } from "./expressions.ts";
import { emptyText, nothing } from "./expressions.ts";
import { ConstraintRefusal } from "./limits.ts";
import { hasAssertion, setsBehind } from "./pattern.ts";
import type { Pattern } from "./pattern.ts";

/** Context for compiling a pattern. */
export interface PatternContext {
  readonly expressions: Expressions;
  readonly spelling: Spelling;
  /** Location of the pattern in the constraint, named in refusals. */
  readonly place: string;
}

/** Returns the expression that matches a text if the pattern matches all of it. */
export function wholeMatch(wording: PatternContext, pattern: Pattern): Expression {
  return new PatternCompiler(wording, pattern).from(atStart, emptyText);
}

/** Returns the expression that matches a text if the pattern matches anywhere in it, like JSON Schema's `pattern`. */
export function matchAnywhere(wording: PatternContext, pattern: Pattern): Expression {
  const { expressions, spelling } = wording;
  const any = expressions.repeat(spelling.character, 0);
  const speller = new PatternCompiler(wording, pattern);
  if (setsBehind(pattern).length === 0) return expressions.sequence(any, speller.from(atStart, any));
  const later = speller.kinds.map((kind) =>
    expressions.sequence(any, spelling.spell(kind), speller.from(kind, any)),
  );
  return expressions.or(speller.from(atStart, any), ...later);
}

/**
 * The text before a position: the class that contains its last character, or null at the start. No look-behind of the
 * pattern distinguishes characters of one class.
 */
type Before = CodePoints | null;
const atStart: Before = null;

/** The expression that the text after a position must match. */
interface Rest {
  readonly after: (before: Before) => Expression;
  /** True if the expression depends on the text before the position. */
  readonly looksBehind: boolean;
}

class PatternCompiler {
  /** Partition of all characters into classes whose members no look-behind of the pattern distinguishes. */
  readonly kinds: readonly CodePoints[];
  readonly #wording: PatternContext;
  readonly #pattern: Pattern;
  /** Compiled expressions of assertion-free subpatterns. */
  readonly #known = new Map<Pattern, Expression>();

  constructor(wording: PatternContext, pattern: Pattern) {
    this.#wording = wording;
    this.#pattern = pattern;
    this.kinds = dividedBy(setsBehind(pattern));
  }

  /** Returns the expression that matches the pattern followed by `rest`, if `before` describes the preceding text. */
  from(before: Before, rest: Expression): Expression {
    return this.#spelled(this.#pattern, before, { after: () => rest, looksBehind: false });
  }

  #spelled(pattern: Pattern, before: Before, rest: Rest): Expression {
    const { expressions } = this.#wording;
    if (!hasAssertion(pattern)) return this.#text(pattern, before, rest);
    switch (pattern.kind) {
      case "sequence":
        return this.#sequence(pattern.parts, before, rest);
      case "choice":
        return expressions.or(...pattern.parts.map((part) => this.#spelled(part, before, rest)));
      case "repeat": {
        if (pattern.max > 1) throw repeatedAssertion(this.#wording);
        const once = pattern.max === 0 ? nothing : this.#spelled(pattern.part, before, rest);
        return pattern.min === 0 ? expressions.or(once, rest.after(before)) : once;
      }
      case "end":
        return expressions.isNullable(rest.after(before)) ? emptyText : nothing;
      case "look": {
        // A look-ahead may be followed by any bytes. Invalid UTF-8 cannot occur there, because the result is
        // intersected with the expression for the rest of the text.
        const any = { after: () => expressions.anything, looksBehind: false };
        const seen = this.#spelled(pattern.part, before, any);
        return expressions.and(pattern.isNegative ? expressions.not(seen) : seen, rest.after(before));
      }
      case "behind":
        return holds(pattern, before) ? rest.after(before) : nothing;
      case "character":
        return this.#text(pattern, before, rest);
      default:
        return unreachable(pattern);
    }
  }

  #sequence(parts: readonly Pattern[], before: Before, rest: Rest): Expression {
    return gathered(parts)
      .reduceRight<Rest>((behind, part) => {
        // Caches the continuation: without look-behinds it is the same for every preceding class.
        const known = new Map<Before, Expression>();
        const looksBehind = behind.looksBehind || setsBehind(part).length > 0;
        const after = (place: Before): Expression => {
          const key = looksBehind ? place : atStart;
          const expression = known.get(key) ?? this.#spelled(part, place, behind);
          known.set(key, expression);
          return expression;
        };
        return { after, looksBehind };
      }, rest)
      .after(before);
  }

  /** Compiles a pattern that contains no assertions. */
  #text(pattern: Pattern, before: Before, rest: Rest): Expression {
    const { expressions } = this.#wording;
    const text = this.#expressed(pattern);
    if (!rest.looksBehind) return expressions.sequence(text, rest.after(before));
    const cases = this.kinds.map((kind) => {
      const ending = this.#endingWith(pattern, kind);
      return ending === nothing ? nothing : expressions.sequence(ending, rest.after(kind));
    });
    return expressions.or(...cases, expressions.isNullable(text) ? rest.after(before) : nothing);
  }

  /** Returns the expression for those matches of an assertion-free pattern whose last character is in the set. */
  #endingWith(pattern: Pattern, kind: CodePoints): Expression {
    const { expressions, spelling } = this.#wording;
    switch (pattern.kind) {
      case "character":
        return spelling.spell(intersectPoints(pattern.set, kind));
      case "sequence": {
        const parts = pattern.parts.map((part) => this.#expressed(part));
        const cases: Expression[] = [];
        for (let last = parts.length - 1; last >= 0; last--) {
          const ending = this.#endingWith(pattern.parts[last], kind);
          cases.push(expressions.sequence(...parts.slice(0, last), ending));
          if (!expressions.isNullable(parts[last])) break;
        }
        return expressions.or(...cases);
      }
      case "choice":
        return expressions.or(...pattern.parts.map((part) => this.#endingWith(part, kind)));
      case "repeat": {
        if (pattern.max === 0) return nothing;
        const part = this.#expressed(pattern.part);
        const others = expressions.repeat(part, Math.max(0, pattern.min - 1), pattern.max - 1);
        return expressions.sequence(others, this.#endingWith(pattern.part, kind));
      }
      default:
        throw repeatedAssertion(this.#wording);
    }
  }

  #expressed(pattern: Pattern): Expression {
    const expression = this.#known.get(pattern) ?? this.#newlyExpressed(pattern);
    this.#known.set(pattern, expression);
    return expression;
  }

  #newlyExpressed(pattern: Pattern): Expression {
    const { expressions, spelling } = this.#wording;
    switch (pattern.kind) {
      case "character":
        return spelling.spell(pattern.set);
      case "sequence":
        return expressions.sequence(...pattern.parts.map((part) => this.#expressed(part)));
      case "choice":
        return expressions.or(...pattern.parts.map((part) => this.#expressed(part)));
      case "repeat":
        return expressions.repeat(this.#expressed(pattern.part), pattern.min, pattern.max);
      default:
        throw repeatedAssertion(this.#wording);
    }
  }
}

/** Joins adjacent assertion-free elements of a sequence into one. */
function gathered(parts: readonly Pattern[]): readonly Pattern[] {
  const all: Pattern[] = [];
  let texts: Pattern[] = [];
  for (const part of parts) {
    if (!hasAssertion(part)) {
      texts.push(part);
      continue;
    }
    if (texts.length > 0) all.push({ kind: "sequence", parts: texts });
    all.push(part);
    texts = [];
  }
  return texts.length > 0 ? [...all, { kind: "sequence", parts: texts }] : all;
}

function dividedBy(sets: readonly CodePoints[]): readonly CodePoints[] {
  let kinds: readonly CodePoints[] = [allCharacters];
  for (const set of sets) {
    kinds = kinds
      .flatMap((kind) => [intersectPoints(kind, set), intersectPoints(kind, complementPoints(set))])
      .filter((kind) => kind.length > 0);
  }
  return kinds;
}

function holds(
  { set, orStart }: { readonly set: CodePoints; readonly orStart: boolean },
  before: Before,
): boolean {
  // The set contains either all characters of a class or none, so one common character is enough.
  return before === null ? orStart : intersectPoints(before, set).length > 0;
}

function repeatedAssertion({ place }: PatternContext): ConstraintRefusal {
  return new ConstraintRefusal({
    kind: "not-exact",
    subject: "a repeated assertion",
    place,
    message: `A repeated assertion cannot be expressed exactly${place === "" ? "" : ` (${place})`}.`,
  });
}
