// API format for the check of a constraint: the constraint fields of a chat request, values to test, and the result.
import { Type, type Static } from "typebox";
import type { Constraint, ConstraintCheck } from "../../../base/domain/constraint.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { exactJsonText, type ExactJson } from "../../../base/domain/text/exact-json.ts";
import type { ExactBody } from "../../../base/validation/json-body.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { readForm, type BodyForm } from "../body.ts";
import { checkConstraint, constraintsIn, readConstraint, unservedConstraint } from "./chat-constraint.ts";
import { constraintFields } from "./fields/constraint-fields.ts";
import { nullable, orNull } from "../nullable.ts";

const testSchema = Type.Object(
  {
    data: Type.Unknown({
      description:
        "Value to test: any JSON for a JSON constraint, where properties may be in any order; a string for other constraints.",
    }),
    valid: nullable(Type.Boolean(), {
      description:
        "Result that you expect, for your own use: the server does not compare it with the result, and returns it unchanged.",
    }),
  },
  { title: "ConstraintTest" },
);

const checkSchema = Type.Object(
  {
    model: nullable(Type.String(), {
      description:
        "Model whose answers would be constrained, by any name that a chat request accepts. The server's default model by default.",
    }),
    structured_outputs: constraintFields.structured_outputs.schema,
    response_format: constraintFields.response_format.schema,
    tests: nullable(Type.Array(testSchema), { description: "Values to test against the constraint." }),
  },
  { title: "ConstraintCheckRequest" },
);

export const constraintCheckForm: BodyForm<typeof checkSchema> = {
  schema: checkSchema,
  more: (body, findings) => {
    checkConstraint(body, findings);
    checkTests(body, findings);
  },
  moreUnserved: unservedConstraint,
};

type CheckedTest = Static<typeof testSchema>;

export interface ReadConstraintCheck {
  readonly constraint: Constraint;
  /** Name of the model whose engine compiles the constraint; null for the default model. */
  readonly model: string | null;
  /** Values to test against the constraint, as JSON text. */
  readonly tests: readonly { readonly data: string; readonly valid: boolean | null }[];
  readonly ignored: readonly string[];
}

/**
 * Reads a request to check a constraint.
 *
 * @throws ServiceError like {@link readForm}; `invalid` for too many tests, and if there is no constraint
 */
export function readConstraintCheck(
  { value, exact }: ExactBody,
  { checkTests: countMax }: { readonly checkTests: number },
): ReadConstraintCheck {
  refuseManyTests(value, countMax);
  const { ignored } = readForm(constraintCheckForm, value);
  // Safe cast: `exact` has the content of the checked body, except that its numbers are as the client wrote them.
  const body = exact as unknown as Static<typeof checkSchema>;
  // Passes on only these two members. Their aliases were not checked, because they exist only in chat requests.
  const { structured_outputs, response_format } = body;
  const constraint = readConstraint({ structured_outputs, response_format });
  if (constraint === null) throw noConstraint();
  const tests = (body.tests ?? []).map(({ data, valid = null }: CheckedTest) => {
    // Safe cast: parsed from JSON.
    return { data: exactJsonText(data as ExactJson), valid };
  });
  return { constraint, model: body.model ?? null, tests, ignored };
}

export const constraintCheckSchema = Type.Object(
  {
    served: Type.Boolean({
      description:
        "True if the server accepts the constraint: the constraint compiles, and the server can enforce it exactly at the start of an answer and at each position of the tested values.",
    }),
    kind: orNull(Type.String(), {
      description:
        "Kind of the refusal: `malformed`, `not-exact`, `limit`, `unsatisfiable` or `not-offered`. Null, like `subject` and `reason`, if the constraint is accepted.",
    }),
    subject: orNull(Type.String(), { description: "The refused keyword, or the exceeded limit." }),
    place: orNull(Type.String(), {
      description: "Location of the refused keyword: a JSON pointer into a schema, or a position in a text.",
    }),
    reason: orNull(Type.String(), { description: "Sentence that says why the constraint is refused." }),
    tests: Type.Array(
      Type.Object({
        valid: orNull(Type.Boolean(), { description: "The `valid` that was sent with the test." }),
        accepted: Type.Boolean({ description: "True if the constraint allows this value as an answer." }),
        limit: orNull(Type.String(), {
          description:
            "Name of the limit that the test exceeded, so that its result is unknown; null if it exceeded no limit.",
        }),
        place: orNull(Type.String(), {
          description:
            "Beginning of the value's text, up to the position at which the test exceeded a limit; null if it exceeded no limit.",
        }),
      }),
    ),
    notices: Type.Array(Type.String(), {
      description:
        "Sentences about an accepted constraint, for example about formats that the server does not know.",
    }),
    compile_ms: Type.Number({
      minimum: 0,
      description: "Milliseconds that compilation of the constraint took.",
    }),
  },
  { title: "ConstraintCheck" },
);

/** Returns the answer. Its results have the order of the tests. */
export function constraintCheckBody(
  { refusal, instances, notices, compileMs }: ConstraintCheck,
  tests: ReadConstraintCheck["tests"],
): object {
  return {
    served: refusal === null,
    kind: refusal?.kind ?? null,
    subject: refusal?.subject ?? null,
    place: refusal?.place ?? null,
    reason: refusal?.message ?? null,
    tests: instances.map(({ isAccepted, limit, place }, index) => ({
      valid: tests[index].valid,
      accepted: isAccepted,
      limit,
      place: place === "" ? null : place,
    })),
    notices,
    compile_ms: Math.round(compileMs * 1000) / 1000,
  };
}

/** Adds a fault for each test whose value is not a text, if the kind of constraint requires texts. */
function checkTests(body: Readonly<Record<string, unknown>>, findings: Findings): void {
  const format = body["response_format"];
  const textTypes: readonly unknown[] = ["structural_tag", "regex", "grammar"];
  const isText = isObject(format) && textTypes.includes(format["type"]);
  const isJson = constraintsIn(body).every(
    (name) => name.includes("json") || (name === "response_format" && !isText),
  );
  if (isJson || !Array.isArray(body["tests"])) return;
  for (const [index, test] of body["tests"].entries()) {
    if (isObject(test) && test["data"] !== undefined && typeof test["data"] !== "string")
      report(findings, "string_type", "Input should be a valid string", "tests", String(index), "data");
  }
}

function refuseManyTests(body: unknown, countMax: number): void {
  if (!isObject(body) || !Array.isArray(body["tests"]) || body["tests"].length <= countMax) return;
  const message = `The list has ${body["tests"].length} items; at most ${countMax} are allowed; send several checks.`;
  throw new ServiceError({
    code: "invalid",
    faults: [{ location: ["body", "tests"], message, type: "too_long" }],
  });
}

function noConstraint(): ServiceError {
  const message = "Field required: structured_outputs or response_format, with a constraint in it";
  const faults = [{ location: ["body", "structured_outputs"], message, type: "missing" }];
  return new ServiceError({ code: "invalid", faults });
}
