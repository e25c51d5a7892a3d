// The set of values that a schema allows, as a list of shapes. Each shape describes values of one JSON type, and a
// value is allowed if it fits one of the shapes. Shapes are plain data; members of arrays and objects are goals,
// resolved only when needed.
import { nothing } from "../../regex/expressions.ts";
import type { Expression } from "../../regex/expressions.ts";
import type { Goal } from "./goals.ts";
import { anyValue } from "./goals.ts";
import { everywhere } from "./spans.ts";
import type { Span } from "./spans.ts";

export type Shape = NullShape | BooleanShape | NumberShape | StringShape | ArrayShape | ObjectShape;

export interface NullShape {
  readonly type: "null";
}

export interface BooleanShape {
  readonly type: "boolean";
  readonly values: readonly boolean[];
}

export interface NumberShape {
  readonly type: "number";
  /** True if the number must be an integer. */
  readonly isInteger: boolean;
  /** Decimal texts of the allowed numbers, in any notation; null if all numbers are allowed. */
  readonly within: Expression | null;
  /**
   * True if the numbers must be multiples of some number. Such numbers have few digits, because JSON readers can check
   * multiples only up to the digits that their number type holds.
   */
  readonly isShort: boolean;
  /** Bounds and step that all allowed numbers are known to satisfy; ignored if the shape has `values`. */
  readonly span: Span;
  /** All allowed numbers, as decimal texts; null if `within` describes them. */
  readonly values: readonly string[] | null;
}

export interface StringShape {
  readonly type: "string";
  /** Texts between the quotation marks, including all escaped spellings. */
  readonly body: Expression;
  /** All allowed strings; null if `body` describes them. */
  readonly values: readonly string[] | null;
}

export interface ArrayShape {
  readonly type: "array";
  /** Goals (requirements) of the first items, by index, as the keyword `prefixItems` sets them. */
  readonly prefix: readonly Goal[];
  /** Goal of every item after those in `prefix`. */
  readonly rest: Goal;
  readonly min: number;
  readonly max: number;
  /** Pointer of the keyword that requires unique items; null if items may repeat. */
  readonly uniqueAt: string | null;
  readonly contains: readonly Contains[];
  /**
   * Number of leading items that a keyword has evaluated; infinite if it has evaluated all. Tracked only if the
   * document needs it.
   */
  readonly evaluated: number;
}

/** Requirement of the keyword `contains`: between `min` and `max` items satisfy the goal. */
export interface Contains {
  readonly goal: Goal;
  readonly min: number;
  readonly max: number;
  readonly pointer: string;
}

export interface ObjectShape {
  readonly type: "object";
  /** Declared properties, in the order in which they are written. */
  readonly declared: readonly Declared[];
  /**
   * Rules for all names that are not declared. Each name matches at most one rule, and a name without a rule is not
   * allowed.
   */
  readonly rules: readonly NameRule[];
  readonly min: number;
  readonly max: number;
  /** Pointer of the keyword that set `min`. */
  readonly minAt: string;
  /** Needs. Each requires at least one property, declared or not, with a matching name and value. */
  readonly needs: readonly Need[];
  /** Dependencies between the declared properties. */
  readonly clauses: readonly Clause[];
  /** Names of the properties that a keyword has evaluated. Tracked only if the document needs it. */
  readonly evaluated: Expression;
}

/**
 * Alternatives, at least one of which must hold. Each requires one property to be present or to be absent. Sorted by
 * name, without duplicate names.
 */
export type Clause = readonly Presence[];

export interface Presence {
  readonly name: string;
  readonly isThere: boolean;
}

export interface Declared {
  readonly name: string;
  readonly goal: Goal;
  readonly isRequired: boolean;
}

export interface NameRule {
  /** Names as bodies of JSON strings (the texts between the quotation marks). */
  readonly names: Expression;
  readonly goal: Goal;
  /** True if the schema describes the names by a pattern; false for the rule about all other names. */
  readonly isPattern: boolean;
}

export interface Need {
  readonly names: Expression;
  readonly goal: Goal;
  readonly pointer: string;
}

/** Returns shapes that together allow all values. */
export function allShapes(anyBody: Expression): readonly Shape[] {
  return [
    { type: "null" },
    { type: "boolean", values: [false, true] },
    anyNumber,
    { type: "string", body: anyBody, values: null },
    anyArray,
    anyObject(anyBody),
  ];
}

export const anyNumber: NumberShape = {
  type: "number",
  isInteger: false,
  within: null,
  isShort: false,
  span: everywhere,
  values: null,
};

export const anyArray: ArrayShape = {
  type: "array",
  prefix: [],
  rest: anyValue,
  min: 0,
  max: Number.POSITIVE_INFINITY,
  uniqueAt: null,
  contains: [],
  evaluated: 0,
};

export function anyObject(anyBody: Expression): ObjectShape {
  return {
    type: "object",
    declared: [],
    rules: [{ names: anyBody, goal: anyValue, isPattern: false }],
    min: 0,
    max: Number.POSITIVE_INFINITY,
    minAt: "",
    needs: [],
    clauses: [],
    evaluated: nothing,
  };
}

/** True if the shape allows any object. */
export function isAnyObject(shape: ObjectShape, anyBody: Expression): boolean {
  const { declared, rules, min, max, needs, clauses, evaluated } = shape;
  const isOpen = rules.length === 1 && rules[0].names === anyBody && rules[0].goal === anyValue;
  return (
    isOpen &&
    declared.length === 0 &&
    min === 0 &&
    max === Number.POSITIVE_INFINITY &&
    needs.length === 0 &&
    clauses.length === 0 &&
    evaluated === nothing
  );
}

/** Returns the goal of the item at an index. */
export const itemGoal = ({ prefix, rest }: ArrayShape, index: number): Goal =>
  index < prefix.length ? prefix[index] : rest;
