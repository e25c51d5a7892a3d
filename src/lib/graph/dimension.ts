/**
 * The size of one axis: a number, or a polynomial over symbols such as "B*T" or "C+T". Symbols are bound when a graph
 * runs. Polynomials have one canonical spelling, so that `===` compares dimensions; division and inequalities are not
 * supported.
 */
import { assert } from "../../base/domain/assert.ts";

export type Dimension = number | string;
export type Shape = readonly Dimension[];

/** Coefficients by term. A term is its sorted symbols joined by "*"; the constant term is "". */
type Polynomial = Map<string, number>;

/** Adds dimensions; the result is canonical. */
export function dimensionSum(dimensions: readonly Dimension[]): Dimension {
  const sum: Polynomial = new Map();
  for (const dimension of dimensions) {
    for (const [term, coefficient] of parse(dimension)) addTerm(sum, term, coefficient);
  }
  return print(sum);
}

/** Subtracts one dimension from another; the result is canonical. */
export function dimensionDifference(from: Dimension, subtracted: Dimension): Dimension {
  return dimensionSum([from, dimensionProduct([-1, subtracted])]);
}

/** Multiplies dimensions (1 if there are none); the result is canonical. */
export function dimensionProduct(dimensions: readonly Dimension[]): Dimension {
  // Most shapes have no symbols. Adding 0 turns -0 into 0.
  if (dimensions.every(isSize)) return dimensions.reduce((sizes, size) => sizes * size, 1) + 0;
  let product: Polynomial = new Map([["", 1]]);
  for (const dimension of dimensions) {
    const next: Polynomial = new Map();
    for (const [rightTerm, rightCoefficient] of parse(dimension)) {
      for (const [leftTerm, leftCoefficient] of product) {
        addTerm(next, joinTerms(leftTerm, rightTerm), leftCoefficient * rightCoefficient);
      }
    }
    product = next;
  }
  return print(product);
}

/** Returns the canonical spelling, such as "B*T" for "T*B". */
export function canonicalDimension(dimension: Dimension): Dimension {
  return typeof dimension === "number" ? dimension : print(parse(dimension));
}

/** Returns the terms of a dimension, each with a coefficient and symbols. */
export function dimensionTerms(
  dimension: Dimension,
): readonly { readonly coefficient: number; readonly symbols: readonly string[] }[] {
  return [...parse(dimension)].map(([term, coefficient]) => ({
    coefficient,
    symbols: term === "" ? [] : term.split("*"),
  }));
}

/** True if the dimension is a single symbol, so that a tensor of that size can bind it. */
export function isSymbol(dimension: Dimension): dimension is string {
  return typeof dimension === "string" && /^[A-Za-z_]\w*$/.test(dimension);
}

/** Computes a dimension from the sizes bound to its symbols; asserts that all are bound. */
export function evaluateDimension(dimension: Dimension, sizes: ReadonlyMap<string, number>): number {
  if (typeof dimension === "number") return dimension;
  let total = 0;
  for (const { coefficient, symbols } of dimensionTerms(dimension)) {
    let product = coefficient;
    for (const symbol of symbols) {
      const size = sizes.get(symbol);
      assert(size !== undefined, `no input binds the dimension symbol ${symbol}`);
      product *= size;
    }
    total += product;
  }
  return total;
}

function isSize(dimension: Dimension): dimension is number {
  if (typeof dimension !== "number") return false;
  assert(Number.isSafeInteger(dimension), `a dimension is an integer, got ${dimension}`);
  return true;
}

function parse(dimension: Dimension): Polynomial {
  if (isSize(dimension)) return dimension === 0 ? new Map() : new Map([["", dimension]]);
  const polynomial: Polynomial = new Map();
  for (const [, sign, text] of dimension.matchAll(/([+-]?)([^+-]+)/g)) {
    let coefficient = sign === "-" ? -1 : 1;
    const symbols: string[] = [];
    for (const factor of (text ?? "").split("*")) {
      if (/^\d+$/.test(factor)) coefficient *= Number(factor);
      else {
        assert(isSymbol(factor), `"${dimension}" is not a dimension`);
        symbols.push(factor);
      }
    }
    addTerm(polynomial, symbols.sort().join("*"), coefficient);
  }
  return polynomial;
}

function print(polynomial: Polynomial): Dimension {
  const terms = [...polynomial].filter(([, coefficient]) => coefficient !== 0);
  if (terms.every(([term]) => term === "")) return terms[0]?.[1] ?? 0;
  terms.sort(([left], [right]) => (left === "" ? 1 : right === "" ? -1 : left < right ? -1 : 1));
  return terms
    .map(([term, coefficient], index) => {
      const sign = coefficient < 0 ? "-" : index === 0 ? "" : "+";
      const size = Math.abs(coefficient);
      const text = term === "" ? `${size}` : size === 1 ? term : `${size}*${term}`;
      return sign + text;
    })
    .join("");
}

function addTerm(polynomial: Polynomial, term: string, coefficient: number): void {
  polynomial.set(term, (polynomial.get(term) ?? 0) + coefficient);
}

function joinTerms(left: string, right: string): string {
  if (left === "" || right === "") return left + right;
  return [...left.split("*"), ...right.split("*")].sort().join("*");
}
