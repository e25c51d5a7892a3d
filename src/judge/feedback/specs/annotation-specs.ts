// Holds annotations to the specs that they name: objects that clients publish, whose `field_schema` says what a value may be.
// A spec that is not stored here asks for nothing: clients keep what they published elsewhere, and may name it all the same.
import type { FeedbackContent } from "../../../base/domain/feedback.ts";
import { plainJson, parseExactJson } from "../../../base/domain/text/exact-json.ts";
import {
  versionNamed,
  type ObjectStore,
  type PublishedObject,
} from "../../../base/domain/traces/published-object.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../base/domain/text/json.ts";
import { type ContentFault, fault } from "../content-fault.ts";
import { annotationNameOf } from "../known-payloads.ts";
import { parseReference } from "../references.ts";
import { checkValue } from "./check-value.ts";
import { readFieldSchema, type FieldSchema } from "./field-schema.ts";

/** Where published specs are found. */
export type SpecSource = Pick<ObjectStore, "find">;

/** The class of objects that are specs. */
export const specClass = "AnnotationSpec";

/** Of a spec's JSON, in characters: reading one takes some 20 ms at most. */
export const specLengthMax = 1 << 17;

/** Of one request: each is looked for in the database. */
const specsMax = 100;

/** What a spec is by its reference: how values are held to it, or why none can be. */
type Spec = { readonly schema: FieldSchema } | { readonly fault: ContentFault } | "unchecked";

/** The specs that the records of one request name. */
export class AnnotationSpecs {
  readonly #specs: ReadonlyMap<string, Spec>;

  private constructor(specs: ReadonlyMap<string, Spec>) {
    this.#specs = specs;
  }

  /** Finds the specs; records have been checked already. @throws ServiceError `too_large` where they are too many */
  static async of(contents: readonly FeedbackContent[], source: SpecSource): Promise<AnnotationSpecs> {
    const specs = new Map<string, Spec>();
    for (const content of contents) {
      const key = keyOf(content);
      if (key === null || specs.has(key)) continue;
      if (specs.size === specsMax) throw tooManySpecs();
      specs.set(key, await findSpec(content, source));
    }
    return new AnnotationSpecs(specs);
  }

  /** Whether no record names one. */
  get areNone(): boolean {
    return this.#specs.size === 0;
  }

  /** What of a record's value does not hold to its spec. */
  faultsOf(content: FeedbackContent): readonly ContentFault[] {
    const key = keyOf(content);
    const spec = key === null ? "unchecked" : (this.#specs.get(key) ?? "unchecked");
    if (spec === "unchecked") return [];
    if ("fault" in spec) return [spec.fault];
    return checkValue(spec.schema, content.payload["value"] ?? null).map(({ path, message }) =>
      fault(["payload", "value", ...path], `${message} (by the annotation spec)`),
    );
  }
}

/** Null for what is no annotation. */
function keyOf({ projectId, feedbackType, annotationRef }: FeedbackContent): string | null {
  if (annotationRef === null || annotationNameOf(feedbackType) === null) return null;
  return JSON.stringify([projectId, annotationRef]);
}

async function findSpec({ projectId, annotationRef }: FeedbackContent, source: SpecSource): Promise<Spec> {
  const object = await findObject(source, projectId, annotationRef ?? "");
  return object === null ? "unchecked" : specOf(object);
}

function specOf({ baseClass, leafClass, value }: PublishedObject): Spec {
  if (baseClass !== specClass) {
    const message = `annotation_ref names an object of class ${leafClass ?? "none"}; it must be an ${specClass}`;
    return { fault: fault(["annotation_ref"], message) };
  }
  const spec = plainJson(parseExactJson(value));
  const { schema, faults } = readFieldSchema(fieldSchemaOf(spec));
  if (schema !== null) return { schema };
  const [{ path, message }] = faults;
  return {
    fault: fault(["annotation_ref"], `the spec's field_schema cannot be used: ${path.join("/")}: ${message}`),
  };
}

/** What a stored spec says, for who asks people its question; null for what is no spec that is stored in the project. */
export async function findSpecText(
  source: SpecSource,
  projectId: string,
  reference: string,
): Promise<{ readonly text: string; readonly schema: JsonObject } | null> {
  const object = await findObject(source, projectId, reference);
  if (object?.baseClass !== specClass) return null;
  const spec = plainJson(parseExactJson(object.value));
  const schema = fieldSchemaOf(spec);
  const description = isJsonObject(spec) ? spec["description"] : null;
  const text = typeof description === "string" && description !== "" ? description : object.name;
  return { text, schema: isJsonObject(schema) ? schema : {} };
}

/** The object that a reference names in a project; null where it is not stored. */
async function findObject(
  source: SpecSource,
  projectId: string,
  reference: string,
): Promise<PublishedObject | null> {
  const parsed = parseReference(reference);
  if (!parsed.isValid || parsed.reference.kind !== "object") return null;
  const { entity, project, name, digest } = parsed.reference;
  if (`${entity}/${project}` !== projectId) return null;
  return await source.find(projectId, { kind: "object", name, version: versionNamed(digest) });
}

/** A spec without a schema takes every value. */
export function fieldSchemaOf(spec: Json): Json {
  return isJsonObject(spec) ? (spec["field_schema"] ?? {}) : {};
}

function tooManySpecs(): ServiceError {
  const message = `The batch names more than ${specsMax} annotation specs; send fewer records at once.`;
  return new ServiceError({
    code: "too_large",
    faults: [{ location: ["batch"], message, type: "too_long" }],
  });
}
