// The interface of a run for its filters, methods and functions.
import type { Budget } from "../budget.ts";
import type { CallArguments, Value } from "../values/value.ts";

export interface Run {
  readonly budget: Budget;
  call(callee: Value, args: CallArguments): Value;
  /** `value.name`; an `Undefined` if it does not exist. */
  attribute(value: Value, name: string): Value;
  /** `value[key]`; an `Undefined` if it does not exist. */
  item(value: Value, key: Value): Value;
  filter(name: string, value: Value, args: CallArguments): Value;
  test(name: string, value: Value, args: CallArguments): boolean;
}

/** Takes its value and the arguments in parentheses after its name. */
export type Filter = (value: Value, args: CallArguments, run: Run) => Value;
export type Test = (value: Value, args: CallArguments, run: Run) => boolean;
/** Takes its object. */
export type Method<Self> = (self: Self, args: CallArguments, run: Run) => Value;

export const noArguments: CallArguments = { positional: [], named: new Map() };
