// The interface of a run, as its filters, methods and functions see it.
import type { Budget } from "../budget.ts";
import type { CallArguments, Value } from "../values/value.ts";

export interface Run {
  readonly budget: Budget;
  call(callee: Value, args: CallArguments): Value;
  /** Evaluates `value.name`; returns an `Undefined` if it does not exist. */
  attribute(value: Value, name: string): Value;
  /** Evaluates `value[key]`; returns an `Undefined` if it does not exist. */
  item(value: Value, key: Value): Value;
  filter(name: string, value: Value, args: CallArguments): Value;
  test(name: string, value: Value, args: CallArguments): boolean;
}

/** A filter; takes a value, and the arguments in parentheses after the filter's name. */
export type Filter = (value: Value, args: CallArguments, run: Run) => Value;
export type Test = (value: Value, args: CallArguments, run: Run) => boolean;
/** A method; takes its object and arguments. */
export type Method<Self> = (self: Self, args: CallArguments, run: Run) => Value;

export const noArguments: CallArguments = { positional: [], named: new Map() };
