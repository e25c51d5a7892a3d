// Published objects in the API, as Weave clients write and read them.
import { Type, type Static } from "typebox";
import type { PublishedObject } from "../../../base/domain/traces/published-object.ts";
import { isObject, report } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";
import { nullable, orNull } from "../nullable.ts";

export const projectIdField = Type.String({ description: "`<entity>/<project>`." });
export const userField = Type.Optional(Type.Null({ description: "Filled by the server." }));

const objectName = Type.String({ minLength: 1, maxLength: 128, description: "Name of the object." });
export const digestField = Type.String({
  minLength: 1,
  maxLength: 128,
  description: "Digest of the content.",
});

export const objectPublishSchema = Type.Object(
  {
    obj: Type.Object(
      {
        project_id: projectIdField,
        object_id: Type.String({
          minLength: 1,
          maxLength: 128,
          description: "Name of the object: letters, digits, `_`, `-` and `.`.",
          examples: ["quality"],
        }),
        val: Type.Unknown({ description: "Content: any JSON of at most 4 MiB." }),
        builtin_object_class: nullable(Type.String({ minLength: 1, maxLength: 128 }), {
          description: "Class of a value that does not name one itself, such as `AnnotationSpec`.",
        }),
        expected_digest: nullable(digestField, {
          description: "Digest computed by the client; 409 if the server computes another.",
        }),
        wb_user_id: userField,
      },
      { title: "WeaveObjectDraft", description: "The object to publish." },
    ),
  },
  { title: "WeaveObjectCreateReq" },
);

/** Characters allowed in the names of objects, which are part of references. */
const namePattern = /^[\p{L}\p{N}_.-]+$/u;

export const objectPublishForm: BodyForm<typeof objectPublishSchema> = {
  schema: objectPublishSchema,
  more: ({ obj }, findings) => {
    if (!isObject(obj)) return;
    const { object_id: name } = obj;
    if (typeof name === "string" && name !== "" && !namePattern.test(name)) {
      report(
        findings,
        "value_error",
        "Value error, letters, digits, _, - and . are allowed",
        "obj",
        "object_id",
      );
    }
  },
};

const objectReadSchema = Type.Object(
  {
    project_id: projectIdField,
    object_id: objectName,
    digest: Type.String({
      minLength: 1,
      maxLength: 128,
      description: "A digest, `v0` and so on, or `latest`.",
    }),
    metadata_only: nullable(Type.Boolean(), { default: false, description: "True to omit the content." }),
  },
  { title: "WeaveObjectReadReq" },
);
export const objectReadForm: BodyForm<typeof objectReadSchema> = { schema: objectReadSchema };

const texts = (description: string) =>
  nullable(Type.Array(Type.String(), { maxItems: 1000 }), { description });

const objectQuerySchema = Type.Object(
  {
    project_id: projectIdField,
    filter: nullable(
      Type.Object(
        {
          base_object_classes: texts("Only objects whose class derives from one of these."),
          leaf_object_classes: texts("Only objects of one of these classes."),
          object_ids: texts("Only objects with these names."),
          is_op: nullable(Type.Boolean(), { description: "True for only ops, false for all other objects." }),
          latest_only: nullable(Type.Boolean(), {
            description: "True for only the newest version of each object.",
          }),
        },
        { title: "WeaveObjectFilter" },
      ),
      { description: "Objects to return; all by default." },
    ),
    limit: nullable(Type.Integer({ minimum: 0, maximum: 1000 }), {
      default: 100,
      description: "Largest number of objects; the answer stops at 4 MiB, but has at least one.",
    }),
    offset: nullable(Type.Integer({ minimum: 0 }), { default: 0, description: "Number of objects to skip." }),
    sort_by: nullable(
      Type.Array(
        Type.Object(
          {
            field: Type.Enum(["object_id", "created_at"], {
              description: "Sort by name or by time.",
            }),
            direction: Type.Enum(["asc", "desc"], { description: "Ascending or descending." }),
          },
          { title: "WeaveObjectOrder" },
        ),
        { maxItems: 1 },
      ),
      { description: "Sort order; by name, then version, by default." },
    ),
    metadata_only: nullable(Type.Boolean(), { default: false, description: "True to omit the contents." }),
  },
  { title: "WeaveObjectQueryReq" },
);
export const objectQueryForm: BodyForm<typeof objectQuerySchema> = { schema: objectQuerySchema };
export type ObjectQueryBody = Static<typeof objectQuerySchema>;

const objectDeleteSchema = Type.Object(
  {
    project_id: projectIdField,
    object_id: objectName,
    digests: nullable(Type.Array(digestField, { maxItems: 1000 }), {
      description: "Versions to delete; all versions of the name by default.",
    }),
    wb_user_id: userField,
  },
  { title: "WeaveObjectDeleteReq" },
);
export const objectDeleteForm: BodyForm<typeof objectDeleteSchema> = { schema: objectDeleteSchema };
export const objectDeleteAnswerSchema = Type.Object({ num_deleted: Type.Integer() });

const refsReadSchema = Type.Object(
  {
    refs: Type.Array(Type.String({ maxLength: 4096 }), {
      maxItems: 1000,
      description: "References of objects, ops and tables, and of parts of objects.",
    }),
  },
  { title: "WeaveRefsReadReq" },
);
export const refsReadForm: BodyForm<typeof refsReadSchema> = { schema: refsReadSchema };
export const refsReadAnswerSchema = Type.Object({
  vals: Type.Array(Type.Unknown(), { description: "In the order of the references." }),
});

export const digestAnswerSchema = Type.Object({
  digest: Type.String({ description: "Digest of the content." }),
});
export const objectPublishAnswerSchema = Type.Object({
  digest: Type.String({ description: "Digest of the version." }),
  object_id: Type.String(),
});

export const objectSchema = Type.Object(
  {
    project_id: Type.String(),
    object_id: Type.String(),
    digest: Type.String(),
    version_index: Type.Integer({ description: "Index of the version among those of the name, from 0." }),
    is_latest: Type.Integer({ description: "1 if no version is newer." }),
    kind: Type.Enum(["object", "op"]),
    base_object_class: orNull(Type.String()),
    leaf_object_class: orNull(Type.String()),
    created_at: Type.String({ format: "date-time" }),
    wb_user_id: Type.String({ description: "Owner of the key that published it." }),
    val: Type.Unknown({ description: "The content." }),
  },
  { title: "WeaveObject" },
);
export const objectReadAnswerSchema = Type.Object({ obj: objectSchema });
export const objectQueryAnswerSchema = Type.Object({ objs: Type.Array(objectSchema) });

/**
 * Returns a published object as JSON. Its content is written exactly as stored, which preserves how its numbers are
 * written.
 */
export function objectText(object: PublishedObject, withValue: boolean): string {
  const about = {
    project_id: object.projectId,
    object_id: object.name,
    digest: object.digest,
    version_index: object.version,
    is_latest: object.isLatest ? 1 : 0,
    kind: object.kind,
    base_object_class: object.baseClass,
    leaf_object_class: object.leafClass,
    created_at: object.createdAt.toISOString(),
    wb_user_id: object.createdBy,
  };
  return `${JSON.stringify(about).slice(0, -1)},"val":${withValue ? object.value : "null"}}`;
}
