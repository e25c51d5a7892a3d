// Validates annotations against their specs. A spec is an object that a client published; its `field_schema` constrains
// the values of annotations. An annotation whose spec is not stored here is not checked, because clients may publish
// specs elsewhere.
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

/** The store in which published specs are looked up. */
export type SpecSource = Pick<ObjectStore, "find">;

/** Class of those published objects that are annotation specs. */
export const specClass = "AnnotationSpec";

/** Maximum length of a spec's JSON in characters. Parsing that much takes at most about 20 ms. */
export const specLengthMax = 1 << 17;

/** Maximum number of specs in one request, because each is looked up in the database. */
const specsMax = 100;

/** A spec that was looked up: its schema, or the reason why values cannot be checked against it. */
type Spec = { readonly schema: FieldSchema } | { readonly fault: ContentFault } | "unchecked";

/** The annotation specs to which the records of one request refer. */
export class AnnotationSpecs {
  readonly #specs: ReadonlyMap<string, Spec>;

  private constructor(specs: ReadonlyMap<string, Spec>) {
    this.#specs = specs;
  }

  /**
   * Looks up the specs to which validated records refer.
   *
   * @throws ServiceError `too_large` if there are too many
   */
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

  /** True if none of the records refers to a spec. */
  get areNone(): boolean {
    return this.#specs.size === 0;
  }

  /** Returns the faults of an annotation's value under its spec; empty if there are none. */
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

/** Returns a key for the spec to which a record refers; null if the record is not an annotation with a spec. */
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

/**
 * Returns the text of a stored spec, whose question is shown to annotators. Returns null if the project stores no such
 * spec.
 */
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

/** Returns the object to which a reference in a project refers; null if the project does not store it. */
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

/** Returns the schema of a spec. If the spec has none, returns the empty schema, which accepts every value. */
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
