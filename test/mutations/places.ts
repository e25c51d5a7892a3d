// Finds mutations of a source: an inverted comparison, a moved bound, a removed branch, a removed call. Works only on
// text; the caller finds out whether a mutation compiles and changes the output.
import { codeOf } from "./code-of.ts";

export interface Mutation {
  /** 1-based. */
  readonly line: number;
  /** 0-based offset of `from` in the source. */
  readonly offset: number;
  readonly from: string;
  readonly to: string;
}

/**
 * Replacements for each operator. Operators have spaces around them, which distinguishes `<` and `>` from those of type
 * arguments.
 */
const operators: Readonly<Record<string, readonly string[]>> = {
  "===": ["!=="],
  "!==": ["==="],
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "&&": ["||"],
  "||": ["&&"],
  "??": ["&&"],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
  "+=": ["-="],
  "-=": ["+="],
};

/**
 * Calls whose removal no test can notice: assertions hold with or without the call, and the language requires `super`.
 */
const neverDropped = /^(?:assert|super)\(/;

/** Returns all mutations of the source, in the order of their positions. */
export function mutationsOf(source: string): readonly Mutation[] {
  const code = codeOf(source);
  const found = [
    ...operatorsIn(code),
    ...numbersIn(code),
    ...negationsIn(code),
    ...conditionsIn(code),
    ...callsIn(code),
  ];
  return found
    .map(({ offset, from, to }) => ({
      line: code.slice(0, offset).split("\n").length,
      offset,
      from: source.slice(offset, offset + from.length),
      to,
    }))
    .toSorted((one, other) => one.offset - other.offset);
}

type Place = Omit<Mutation, "line">;

function operatorsIn(code: string): readonly Place[] {
  return [...code.matchAll(/(?<=\s)[=!<>&|?+\-*/%]+(?=\s)/g)].flatMap(({ 0: from, index: offset }) =>
    (operators[from] ?? []).map((to) => ({ offset, from, to })),
  );
}

/**
 * Largest number that is mutated. Numbers up to this one usually count things, so a difference of one matters. Larger
 * numbers are usually sizes or times, for which tests cannot notice a difference of one.
 */
const countMax = 16;

/** Finds decimal numbers that are not part of a name. */
function numbersIn(code: string): readonly Place[] {
  return [...code.matchAll(/(?<![\w.$])\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])/g)].flatMap(
    ({ 0: from, index: offset }) => {
      const value = Number(from.replaceAll("_", ""));
      const isCount = Number.isInteger(value) && value <= countMax;
      const others = isCount ? [value + 1, Math.abs(value - 1)] : [value * 2, value / 2];
      return [...new Set(others)].map((other) => ({ offset, from, to: String(other) }));
    },
  );
}

function negationsIn(code: string): readonly Place[] {
  return [...code.matchAll(/(?<=[\s([!])!(?=[\w([])/g)].map(({ index: offset }) => ({
    offset,
    from: "!",
    to: "",
  }));
}

function conditionsIn(code: string): readonly Place[] {
  return [...code.matchAll(/\b(?:if|while) (?=\()/g)].flatMap(({ 0: keyword, index }) => {
    const offset = index + keyword.length;
    const from = code.slice(offset, closingBracket(code, offset) + 1);
    // Never makes a `while` loop endless: only a timeout would notice it, which says nothing about the tests.
    const others = keyword.startsWith("while") ? ["(false)"] : ["(false)", "(true)"];
    return others.filter((to) => to !== from).map((to) => ({ offset, from, to }));
  });
}

/** Finds calls that are statements of their own, including an `await` before them. */
function callsIn(code: string): readonly Place[] {
  const pattern =
    /(?<=[;{})]\s*\n\s*|\belse |\) )(?:(?:await|void) )?(\w[\w$.#?!]*(?:\[[^\]\n]*\])?[\w$.#?!]*\()/g;
  return [...code.matchAll(pattern)].flatMap(({ 0: start, 1: callee = "", index: offset }) => {
    if (neverDropped.test(callee) || /^(?:if|for|while|switch|return|throw)\b/.test(callee)) return [];
    const end = closingBracket(code, offset + start.length - 1);
    return code[end + 1] === ";" ? [{ offset, from: code.slice(offset, end + 2), to: ";" }] : [];
  });
}

function closingBracket(code: string, opening: number): number {
  let depth = 0;
  for (let at = opening; at < code.length; at++) {
    if (code[at] === "(") depth += 1;
    if (code[at] === ")") depth -= 1;
    if (depth === 0) return at;
  }
  return code.length;
}
