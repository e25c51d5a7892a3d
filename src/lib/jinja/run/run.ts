// What filters, methods and functions may ask of the run that they are part of.
import type { Budget } from "../budget.ts";
import type { CallArguments, Value } from "../values/value.ts";

export interface Run {
  readonly budget: Budget;
  call(callee: Value, args: CallArguments): Value;
  /** `value.name`; what is not defined where there is none. */
  attribute(value: Value, name: string): Value;
  /** `value[key]`; what is not defined where there is none. */
  item(value: Value, key: Value): Value;
  filter(name: string, value: Value, args: CallArguments): Value;
  test(name: string, value: Value, args: CallArguments): boolean;
}

/** Of its value and what stands in parentheses behind its name. */
export type Filter = (value: Value, args: CallArguments, run: Run) => Value;
export type Test = (value: Value, args: CallArguments, run: Run) => boolean;
/** Of its object. */
export type Method<Self> = (self: Self, args: CallArguments, run: Run) => Value;

export const noArguments: CallArguments = { positional: [], named: new Map() };
