// Punctuation of JSON with the whitespace between tokens that the request's options allow.
import type { ConstraintOptions } from "../../../../../base/domain/constraint.ts";
import { quoted } from "../../../../../base/domain/service-error.ts";
import { plainSpelling } from "../../../regex/characters/spelling.ts";
import type { Expression } from "../../../regex/expressions.ts";
import { emptyText } from "../../../regex/expressions.ts";
import { wholeMatch } from "../../../regex/compile-pattern.ts";
import { parsePattern } from "../../../regex/parse-pattern.ts";
import { bytesOf } from "../../../regex/byte-set.ts";
import { ConstraintRefusal } from "../../../regex/limits.ts";
import type { Compilation } from "../../compilation.ts";

/** Expressions for JSON's punctuation, each with the whitespace allowed around it. */
export interface JsonStyle {
  readonly comma: Expression;
  readonly colon: Expression;
  /** An opening bracket or brace, with whitespace after it. */
  readonly open: (bracket: "[" | "{") => Expression;
  /** A closing bracket or brace, with whitespace before it. */
  readonly close: (bracket: "]" | "}") => Expression;
  /** A closing bracket or brace directly after `open`, which includes the whitespace. */
  readonly closeEmpty: (bracket: "]" | "}") => Expression;
}

export function jsonStyle(compilation: Compilation, options: ConstraintOptions): JsonStyle {
  const { expressions } = compilation;
  const blanks = blanksOf(compilation, options);
  const sign = (text: string) => expressions.range(text.charCodeAt(0), text.charCodeAt(0));
  return {
    comma: expressions.sequence(blanks, sign(","), blanks),
    colon: expressions.sequence(blanks, sign(":"), blanks),
    open: (bracket) => expressions.sequence(sign(bracket), blanks),
    close: (bracket) => expressions.sequence(blanks, sign(bracket)),
    closeEmpty: (bracket) => sign(bracket),
  };
}

/**
 * Maximum number of newlines between tokens, unless the request sets its own whitespace. Without this limit and the
 * next two, small models write whitespace until the answer is cut off.
 */
const newlineCountMax = 2;
/** Maximum number of blanks after newlines: an indentation of 32 levels. */
const indentationMax = 64;
/** Maximum number of blanks without a newline. */
const blankCountMax = 4;

function blanksOf(compilation: Compilation, options: ConstraintOptions): Expression {
  const { expressions } = compilation;
  const blank = expressions.bytes(bytesOf([0x20, 0x09, 0x0a, 0x0d]));
  if (options.whitespacePattern !== null)
    return matchingBlanks(options.whitespacePattern, expressions.repeat(blank, 0), compilation);
  return options.allowsAnyWhitespace ? boundedBlanks(compilation) : emptyText;
}

function boundedBlanks({ expressions }: Compilation): Expression {
  const blank = expressions.bytes(bytesOf([0x20, 0x09]));
  const inLine = expressions.bytes(bytesOf([0x20, 0x09, 0x0d]));
  const [lineFeed, carriageReturn] = [0x0a, 0x0d].map((byte) => expressions.bytes(bytesOf([byte])));
  const newline = expressions.sequence(expressions.repeat(carriageReturn, 0, 1), lineFeed);
  const indented = expressions.sequence(
    expressions.repeat(newline, 1, newlineCountMax),
    expressions.repeat(blank, 0, indentationMax),
  );
  return expressions.or(expressions.repeat(inLine, 0, blankCountMax), indented);
}

/**
 * Returns the JSON whitespace that matches the pattern. Any other character would make the JSON invalid, so \s means
 * only JSON's whitespace.
 */
function matchingBlanks(pattern: string, blanks: Expression, compilation: Compilation): Expression {
  const { expressions, automaton } = compilation;
  const place = "whitespace_pattern";
  const wording = { expressions, spelling: plainSpelling(expressions), place };
  const matching = expressions.and(blanks, wholeMatch(wording, parsePattern(pattern, compilation, place)));
  if (!automaton.isEmpty(matching)) return matching;
  throw new ConstraintRefusal({
    kind: "malformed",
    subject: place,
    place,
    message: `The whitespace_pattern ${quoted(pattern)} matches no text of spaces, tabs and line breaks, and JSON allows nothing else between its tokens.`,
  });
}
