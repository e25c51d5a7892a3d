// Parses and computes the formulas of multi-graders: numbers, names of graders, + - * / ^, parentheses and functions.
import { quoted, ServiceError } from "../../base/domain/service-error.ts";

/** Computes a formula. The argument has a value for each grader name in the formula. */
export type Formula = (values: Readonly<Record<string, number>>) => number;

const functions: Readonly<Record<string, (...values: readonly number[]) => number>> = {
  min: Math.min,
  max: Math.max,
  abs: (value) => Math.abs(value),
  floor: (value) => Math.floor(value),
  ceil: (value) => Math.ceil(value),
  exp: (value) => Math.exp(value),
  sqrt: (value) => Math.sqrt(value),
  log: (value) => Math.log(value),
};

/** Maximum length of a formula in characters, and maximum depth of parentheses. */
const [lengthMax, depthMax] = [4096, 64];

/**
 * Parses a formula.
 *
 * @param names names of graders that the formula may use
 * @throws ServiceError `invalid` with the position of the fault
 */
export function parseFormula(text: string, names: readonly string[]): Formula {
  if (text.length > lengthMax)
    throw invalid(`The formula has ${text.length} characters; at most ${lengthMax} are allowed.`);
  return new FormulaParser(text, new Set(names)).parse();
}

class FormulaParser {
  readonly #text: string;
  readonly #names: ReadonlySet<string>;
  #position = 0;
  #depth = 0;

  constructor(text: string, names: ReadonlySet<string>) {
    this.#text = text;
    this.#names = names;
  }

  parse(): Formula {
    const formula = this.#sum();
    this.#skipBlanks();
    if (this.#position < this.#text.length) throw this.#unexpected();
    return formula;
  }

  #sum(): Formula {
    let left = this.#product();
    for (let sign = this.#take(/[+-]/y); sign !== null; sign = this.#take(/[+-]/y)) {
      const [first, second, isPlus] = [left, this.#product(), sign === "+"];
      left = (values) => (isPlus ? first(values) + second(values) : first(values) - second(values));
    }
    return left;
  }

  #product(): Formula {
    let left = this.#signed();
    for (let sign = this.#take(/[*/]/y); sign !== null; sign = this.#take(/[*/]/y)) {
      const [first, second, isTimes] = [left, this.#signed(), sign === "*"];
      left = (values) => (isTimes ? first(values) * second(values) : first(values) / second(values));
    }
    return left;
  }

  /** A sign binds less than a power: -2^2 is -4. */
  #signed(): Formula {
    return this.#nested(() => {
      const sign = this.#take(/[+-]/y);
      if (sign === null) return this.#power();
      const operand = this.#signed();
      return sign === "-" ? (values) => -operand(values) : operand;
    });
  }

  #power(): Formula {
    const base = this.#atom();
    if (this.#take(/\^|\*\*/y) === null) return base;
    const exponent = this.#signed();
    return (values) => base(values) ** exponent(values);
  }

  #atom(): Formula {
    if (this.#take(/\(/y) !== null) {
      const inner = this.#sum();
      if (this.#take(/\)/y) === null) throw this.#unexpected();
      return inner;
    }
    const number = this.#take(/\d+(\.\d*)?(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?/iy);
    if (number !== null) return () => Number(number);
    const name = this.#take(/[\p{L}_][\p{L}\p{N}_]*/uy);
    if (name === null) throw this.#unexpected();
    if (this.#take(/\(/y) !== null) return this.#call(name);
    if (!this.#names.has(name))
      throw invalid(`The formula uses ${quoted(name)}; the graders are ${[...this.#names].join(", ")}.`);
    return (values) => values[name] ?? Number.NaN;
  }

  #call(name: string): Formula {
    const called = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (called === undefined)
      throw invalid(
        `The formula calls ${quoted(name)}; the functions are ${Object.keys(functions).join(", ")}.`,
      );
    const operands = [this.#sum()];
    while (this.#take(/,/y) !== null) operands.push(this.#sum());
    if (this.#take(/\)/y) === null) throw this.#unexpected();
    if (operands.length > 1 && name !== "min" && name !== "max")
      throw invalid(`The function ${name} takes one value; the formula gives ${operands.length}.`);
    return (values) => called(...operands.map((operand) => operand(values)));
  }

  #nested(parse: () => Formula): Formula {
    this.#depth += 1;
    if (this.#depth > depthMax) throw invalid(`The formula is nested deeper than ${depthMax} levels.`);
    const formula = parse();
    this.#depth -= 1;
    return formula;
  }

  /** Skips blanks, and returns the text that the sticky pattern matches at the position; null if there is none. */
  #take(pattern: RegExp): string | null {
    this.#skipBlanks();
    pattern.lastIndex = this.#position;
    const match = pattern.exec(this.#text);
    if (match === null) return null;
    this.#position += match[0].length;
    return match[0];
  }

  #skipBlanks(): void {
    while (/\s/.test(this.#text[this.#position] ?? "")) this.#position += 1;
  }

  #unexpected(): ServiceError {
    const rest = this.#text.slice(this.#position, this.#position + 20);
    const what = rest === "" ? "ends too early" : `has an unexpected ${quoted(rest)}`;
    return invalid(`The formula ${what}, at character ${this.#position + 1}.`);
  }
}

function invalid(message: string): ServiceError {
  return new ServiceError({ code: "invalid", message });
}
