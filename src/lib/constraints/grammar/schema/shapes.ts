// The set of values that a schema allows, as a list of shapes: each describes values of one JSON type, and a value is
// allowed if it fits one of them. Plain data; members of arrays and objects are goals, resolved only when needed.
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
  /** Whether it must be a whole number. */
  readonly isInteger: boolean;
  /** The decimal texts of the numbers in it, however they are written out; null for all. */
  readonly within: Expression | null;
  /** Whether it is a matter of multiples, which readers can only check of so many digits as their numbers hold. */
  readonly isShort: boolean;
  /** Where they all lie, as far as is plain; of a shape with `values` it says nothing. */
  readonly span: Span;
  /** The only numbers in it, as decimal texts; null where `within` says it all. */
  readonly values: readonly string[] | null;
}

export interface StringShape {
  readonly type: "string";
  /** What stands between the quotation marks, with every escape. */
  readonly body: Expression;
  /** The only strings in it; null where `body` says it all. */
  readonly values: readonly string[] | null;
}

export interface ArrayShape {
  readonly type: "array";
  /** The goals of the first items. */
  readonly prefix: readonly Goal[];
  /** The goal of every further item. */
  readonly rest: Goal;
  readonly min: number;
  readonly max: number;
  /** The pointer of the keyword that wants all items to differ; null where they need not. */
  readonly uniqueAt: string | null;
  readonly contains: readonly Contains[];
  /** How many of the first items a keyword looked at; infinite for all. Kept only where that matters. */
  readonly evaluated: number;
}

/** How many items must reach a goal. */
export interface Contains {
  readonly goal: Goal;
  readonly min: number;
  readonly max: number;
  readonly pointer: string;
}

export interface ObjectShape {
  readonly type: "object";
  /** In the order in which they are written. */
  readonly declared: readonly Declared[];
  /** What holds of all other names: the rules' names never overlap, and a name without a rule is not allowed. */
  readonly rules: readonly NameRule[];
  readonly min: number;
  readonly max: number;
  /** The pointer of what set `min`. */
  readonly minAt: string;
  /** Each wants a property, declared or not, whose name and value are so. */
  readonly needs: readonly Need[];
  /** Which of the declared properties go together. */
  readonly clauses: readonly Clause[];
  /** The names that a keyword looked at. Kept only where that matters. */
  readonly evaluated: Expression;
}

/** At least one of them is so; in the order of names, each once. */
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
  /** Names as the bodies of JSON strings. */
  readonly names: Expression;
  readonly goal: Goal;
  /** Whether the schema describes the names, rather than leaving them open. */
  readonly isPattern: boolean;
}

export interface Need {
  readonly names: Expression;
  readonly goal: Goal;
  readonly pointer: string;
}

/** The shapes of every value there is. */
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

/** Whether the shape asks nothing of an object. */
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

/** The goal of the item at an index. */
export const itemGoal = ({ prefix, rest }: ArrayShape, index: number): Goal =>
  index < prefix.length ? prefix[index] : rest;
