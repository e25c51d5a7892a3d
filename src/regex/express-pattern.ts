// A pattern spelled in bytes. Assertions are worked out from the right: each part is given what the rest of the text
// must match, so that `$` asks the rest to be empty and a look-ahead intersects it.
import type { Expression, Expressions } from "./expressions.ts";
import { emptyText, nothing } from "./expressions.ts";
import type { Spelling } from "./characters.ts";
import { hasAssertion, hasStart } from "./pattern.ts";
import type { Pattern } from "./pattern.ts";
import { unreachable } from "../domain/assert.ts";
import { ConstraintRefusal } from "./limits.ts";

/** A pattern and how to spell it. */
export interface Wording {
  readonly expressions: Expressions;
  readonly spelling: Spelling;
  /** Where the pattern stands, for refusals. */
  readonly place: string;
}

/** The texts that match the pattern from their first character to their last. */
export function wholeMatch(wording: Wording, pattern: Pattern): Expression {
  return before(wording, pattern, { rest: emptyText, isAtStart: true });
}

/** The texts in which the pattern matches somewhere, as JSON Schema's `pattern` asks. */
export function matchAnywhere(wording: Wording, pattern: Pattern): Expression {
  const { expressions, spelling } = wording;
  const rest = expressions.repeat(spelling.character, 0);
  if (!hasStart(pattern))
    return expressions.sequence(rest, before(wording, pattern, { rest, isAtStart: false }));
  const later = before(wording, pattern, { rest, isAtStart: false });
  return expressions.or(
    before(wording, pattern, { rest, isAtStart: true }),
    expressions.sequence(expressions.repeat(spelling.character, 1), later),
  );
}

interface Setting {
  /** What follows the pattern, up to the end of the text. */
  readonly rest: Expression;
  /** Whether nothing stands before the pattern. */
  readonly isAtStart: boolean;
}

function before(wording: Wording, pattern: Pattern, setting: Setting): Expression {
  const { expressions } = wording;
  if (!hasAssertion(pattern)) return expressions.sequence(expressed(wording, pattern), setting.rest);
  switch (pattern.kind) {
    case "sequence":
      return sequenceBefore(wording, pattern.parts, setting);
    case "choice":
      return expressions.or(...pattern.parts.map((part) => before(wording, part, setting)));
    case "repeat":
      if (pattern.max > 1) throw repeatedAssertion(wording);
      return expressions.or(
        before(wording, pattern.part, setting),
        pattern.min === 0 ? setting.rest : nothing,
      );
    case "start":
      return setting.isAtStart ? setting.rest : nothing;
    case "end":
      return expressions.isNullable(setting.rest) ? emptyText : nothing;
    case "look": {
      const rest = expressions.repeat(wording.spelling.character, 0);
      const seen = before(wording, pattern.part, { rest, isAtStart: setting.isAtStart });
      return expressions.and(pattern.isNegative ? expressions.not(seen) : seen, setting.rest);
    }
    case "character":
      return expressions.sequence(expressed(wording, pattern), setting.rest);
    default:
      return unreachable(pattern);
  }
}

function sequenceBefore(wording: Wording, parts: readonly Pattern[], setting: Setting): Expression {
  if (parts.length === 0) return setting.rest;
  const [first, ...others] = parts;
  const afterText = { rest: setting.rest, isAtStart: false };
  const later = () => sequenceBefore(wording, others, afterText);
  if (!setting.isAtStart || !others.some(hasStart)) {
    return before(wording, first, { ...setting, rest: sequenceBefore(wording, others, afterText) });
  }
  // A later ^ can only hold where everything before it was empty.
  const atOnce = sequenceBefore(wording, others, setting);
  if (first.kind === "start") return atOnce;
  if (hasAssertion(first)) throw repeatedAssertion(wording);
  const { expressions } = wording;
  const text = expressed(wording, first);
  return expressions.or(
    expressions.sequence(expressions.and(text, expressions.not(emptyText)), later()),
    expressions.isNullable(text) ? atOnce : nothing,
  );
}

/** A pattern without assertions. */
function expressed(wording: Wording, pattern: Pattern): Expression {
  const { expressions, spelling } = wording;
  switch (pattern.kind) {
    case "character":
      return spelling.spell(pattern.set);
    case "sequence":
      return expressions.sequence(...pattern.parts.map((part) => expressed(wording, part)));
    case "choice":
      return expressions.or(...pattern.parts.map((part) => expressed(wording, part)));
    case "repeat":
      return expressions.repeat(expressed(wording, pattern.part), pattern.min, pattern.max);
    default:
      throw repeatedAssertion(wording);
  }
}

function repeatedAssertion({ place }: Wording): ConstraintRefusal {
  return new ConstraintRefusal({
    kind: "not-exact",
    subject: "a repeated assertion",
    place,
    message: `An assertion that is repeated, or stands before another, cannot be expressed exactly${place === "" ? "" : ` (${place})`}.`,
  });
}
