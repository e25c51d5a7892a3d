// A JSON schema with values to test against it, as read from a file or from one line of a file, and the result of the
// check.
import type { ConstraintCheck } from "../../../base/domain/constraint.ts";
import { invalid } from "../../../base/domain/service-error.ts";
import {
  exactJsonText,
  isExactList,
  isExactObject,
  parseExactJson,
  type ExactJson,
} from "../../../base/domain/text/exact-json.ts";
import type { SchemaChecker } from "../../server/constraints/check-schemas.ts";

export interface SchemaCase {
  readonly name: string;
  readonly schema: ExactJson;
  readonly tests: readonly SchemaTest[];
}

export interface SchemaTest {
  /** True if the value should be valid under the schema, false if not; null if the test does not say. */
  readonly valid: boolean | null;
  readonly data: ExactJson;
}

export interface CheckedCase {
  readonly name: string;
  readonly check: ConstraintCheck;
  /** One result per test; empty if the schema is refused before any value can be tested. */
  readonly tests: readonly CheckedTest[];
}

export interface CheckedTest {
  readonly valid: boolean | null;
  readonly accepted: boolean;
  /** Name of the exceeded limit, and the place in the value's text; null and "" if no limit was exceeded. */
  readonly limit: string | null;
  readonly place: string;
}

export function checkCase(checkSchema: SchemaChecker, { name, schema, tests }: SchemaCase): CheckedCase {
  const check = checkSchema(
    exactJsonText(schema),
    tests.map(({ data }) => exactJsonText(data)),
  );
  const checked = check.instances.map(({ isAccepted, limit, place }, index) => ({
    valid: tests[index].valid,
    accepted: isAccepted,
    limit,
    place,
  }));
  return { name, check, tests: checked };
}

/** Returns a result's JSON form. */
export function caseFields({ name, check, tests }: CheckedCase): object {
  const { refusal, notices, compileMs } = check;
  return {
    name,
    served: refusal === null,
    reason: refusal?.message ?? null,
    place: refusal?.place ?? null,
    tests: tests.map(({ valid, accepted, limit, place }) =>
      limit === null ? { valid, accepted } : { valid, accepted, limit, place },
    ),
    notices,
    compileMs: Math.round(compileMs * 1000) / 1000,
  };
}

/**
 * Parses `{name, schema, tests}`; only the schema is required.
 *
 * @param name default name
 * @throws ServiceError `invalid` for any other value
 */
export function readCase(value: ExactJson, name: string): SchemaCase {
  if (!isExactObject(value) || value["schema"] === undefined)
    throw invalid(`has no "schema"; it must be an object such as {"schema": {...}, "tests": [...]}`);
  const { name: given = name, schema, tests = [] } = value;
  if (typeof given !== "string") throw invalid(`has a "name" that is not a string`);
  if (!isExactList(tests)) throw invalid(`has "tests" that are not an array`);
  return { name: given, schema, tests: tests.map(readTest) };
}

function readTest(test: ExactJson, index: number): SchemaTest {
  if (!isExactObject(test) || test["data"] === undefined)
    throw invalid(`has no "data" in test ${index}, which must look like {"valid": true, "data": ...}`);
  const { valid = null, data } = test;
  if (valid !== null && typeof valid !== "boolean")
    throw invalid(`has a "valid" in test ${index} that is neither true nor false`);
  return { valid, data };
}

/**
 * Parses JSON, preserving numbers exactly.
 *
 * @throws ServiceError `invalid` for invalid JSON
 */
export function parsedJson(text: string): ExactJson {
  try {
    return parseExactJson(text);
  } catch (cause) {
    throw invalid(`is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}
