// Reads a published object from the bytes of a request. The result has its content as canonical text, its digest and
// its classes.
import { isExactObject, plainJson, type ExactJson } from "../../../base/domain/text/exact-json.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { fieldSchemaOf, specClass, specLengthMax } from "../../../judge/feedback/specs/annotation-specs.ts";
import { readFieldSchema } from "../../../judge/feedback/specs/field-schema.ts";
import { canonicalText, textDigest } from "../../../judge/weave/digests.ts";
import { asClass, classesOf, kindOf } from "../../../judge/weave/object-classes.ts";
import type { ObjectInput } from "../../../judge/weave/object-service.ts";
import { parseExactBody } from "../../../base/validation/json-body.ts";
import { report, type Findings } from "../../../base/validation/findings.ts";
import { readForm, type Checked } from "../body.ts";
import type { BodyLimits } from "../body-limits.ts";
import { objectPublishForm } from "./objects.ts";

/** Maximum size in bytes of an object's stored content. */
const contentBytesMax = 4 << 20;

/**
 * Reads a request that publishes an object.
 *
 * @throws ServiceError `invalid` with every fault, including faults of an annotation spec's schema; `too_large` if the
 * content is too large
 */
export function readPublishedObject(bytes: Buffer, limits: BodyLimits): Checked<ObjectInput> {
  const { value: body, exact } = parseExactBody(bytes, limits.json);
  const content = contentOf(exact);
  const value = canonicalText(content);
  const {
    value: { obj },
    ignored,
  } = readForm(objectPublishForm, body, (findings) => checkSpec(content, value.length, findings));
  // Canonical text is ASCII, so its number of characters is its number of bytes.
  if (value.length > contentBytesMax) throw tooLarge(value.length);
  const { base, leaf } = classesOf(content);
  return {
    value: {
      projectId: obj.project_id,
      kind: kindOf(content),
      name: obj.object_id,
      digest: textDigest(value),
      value,
      baseClass: base,
      leafClass: leaf,
      expectedDigest: obj.expected_digest ?? null,
    },
    ignored,
  };
}

/**
 * Returns the object's content, with numbers as the client wrote them. Adds the class in the field
 * `builtin_object_class` if the content has no class.
 */
function contentOf(body: ExactJson | undefined): ExactJson {
  const obj = body !== undefined && isExactObject(body) ? body["obj"] : undefined;
  if (obj === undefined || !isExactObject(obj)) return null;
  const { val = null, builtin_object_class: className } = obj;
  if (typeof className !== "string" || classesOf(val).leaf !== null) return val;
  return asClass(val, className);
}

/**
 * Adds faults for an annotation spec whose field schema is invalid: annotations could not be checked against it. Limits
 * the spec's length, because other requests wait while a spec is read.
 */
function checkSpec(content: ExactJson, length: number, findings: Findings): void {
  if (classesOf(content).base !== specClass) return;
  if (length > specLengthMax) {
    const message = `Value error, an annotation spec has at most ${specLengthMax} characters of JSON; this one has ${length}`;
    return report(findings, "value_error", message, "obj", "val");
  }
  for (const { path, message } of readFieldSchema(fieldSchemaOf(plainJson(content))).faults) {
    report(findings, "value_error", message, "obj", "val", "field_schema", ...path);
  }
}

function tooLarge(byteCount: number): ServiceError {
  const message = `The object has ${byteCount} bytes of JSON; at most ${contentBytesMax} are allowed. Publish large data as a table or as files.`;
  const faults = [{ location: ["body", "obj", "val"], message, type: "too_long" }];
  return new ServiceError({ code: "too_large", faults });
}
