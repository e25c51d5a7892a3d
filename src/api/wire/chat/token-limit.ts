// The most tokens of an answer as clients spell it, where -1 asks for no limit, as in LM Studio and llama.cpp.
import { Type } from "typebox";
import { report, type Findings } from "../../../base/validation/findings.ts";
import { nullable } from "../nullable.ts";

/** Takes what {@link checkTokenLimit} passes. */
export const tokenLimitSchema = () => nullable(Type.Integer({ minimum: -1 }));

export const tokenLimitRange = "at least 1, or -1 for no limit";

/** Adds a fault for 0, which a schema with a least value cannot except; looks at a raw value. */
export function checkTokenLimit(value: unknown, field: string, findings: Findings): void {
  if (value !== 0) return;
  const message = "Input should be greater than or equal to 1, or -1 for no limit (got 0)";
  report(findings, "greater_than_equal", message, field);
}

/** The limit of a checked body: Infinity where it asks for none, null where it says nothing. */
export function readTokenLimit(value: number | null | undefined): number | null {
  return value === -1 ? Infinity : (value ?? null);
}
