// API format of published objects, as Weave clients write and read them.
import { Type, type Static } from "typebox";
import type { PublishedObject } from "../../../base/domain/traces/published-object.ts";
import { isObject, report } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";
import { nullable, orNull } from "../nullable.ts";

export const projectIdField = Type.String({ description: "Project, as `<entity>/<project>`." });
export const userField = Type.Optional(
  Type.Null({ description: "Omit this field or send null: the server sets it to the owner of the key." }),
);

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
        val: Type.Unknown({ description: "Content of the object: any JSON of at most 4 MiB." }),
        builtin_object_class: nullable(Type.String({ minLength: 1, maxLength: 128 }), {
          description:
            "Class of the object, such as `AnnotationSpec`, if its content does not name the class.",
        }),
        expected_digest: nullable(digestField, {
          description:
            "Digest that the client computed. The answer is 409 if the server computes a different one.",
        }),
        wb_user_id: userField,
      },
      { title: "WeaveObjectDraft", description: "The object to publish." },
    ),
  },
  { title: "WeaveObjectCreateReq" },
);

/** Characters that an object's name may have. They are restricted, because names are part of references. */
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
      description: "Version to read: its digest, `v<index>` (such as `v0`), or `latest`.",
    }),
    metadata_only: nullable(Type.Boolean(), { default: false, description: "True to leave `val` empty." }),
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
          base_object_classes: texts("Only objects whose base class is one of these."),
          leaf_object_classes: texts("Only objects whose own class is one of these."),
          object_ids: texts("Only objects with these names."),
          is_op: nullable(Type.Boolean(), {
            description: "True: only ops. False: only objects that are not ops.",
          }),
          latest_only: nullable(Type.Boolean(), {
            description: "True: only the newest version of each object.",
          }),
        },
        { title: "WeaveObjectFilter" },
      ),
      { description: "Conditions on the objects to return; all by default." },
    ),
    limit: nullable(Type.Integer({ minimum: 0, maximum: 1000 }), {
      default: 100,
      description:
        "Maximum number of objects. The answer has fewer if they would exceed 4 MiB, but at least one.",
    }),
    offset: nullable(Type.Integer({ minimum: 0 }), { default: 0, description: "Number of objects to skip." }),
    sort_by: nullable(
      Type.Array(
        Type.Object(
          {
            field: Type.Enum(["object_id", "created_at"], {
              description: "Field to sort by: the name, or the time of publication.",
            }),
            direction: Type.Enum(["asc", "desc"], { description: "Direction: ascending or descending." }),
          },
          { title: "WeaveObjectOrder" },
        ),
        { maxItems: 1 },
      ),
      { description: "Sort order; by default by name, then by version." },
    ),
    metadata_only: nullable(Type.Boolean(), {
      default: false,
      description: "True to leave `val` of each object empty.",
    }),
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
      description: "Digests of the versions to delete; by default, all versions of the object.",
    }),
    wb_user_id: userField,
  },
  { title: "WeaveObjectDeleteReq" },
);
export const objectDeleteForm: BodyForm<typeof objectDeleteSchema> = { schema: objectDeleteSchema };
export const objectDeleteAnswerSchema = Type.Object({
  num_deleted: Type.Integer({ description: "Number of versions deleted." }),
});

const refsReadSchema = Type.Object(
  {
    refs: Type.Array(Type.String({ maxLength: 4096 }), {
      maxItems: 1000,
      description:
        "References of the things to read: objects and ops, parts of objects and ops, and rows of tables.",
    }),
  },
  { title: "WeaveRefsReadReq" },
);
export const refsReadForm: BodyForm<typeof refsReadSchema> = { schema: refsReadSchema };
export const refsReadAnswerSchema = Type.Object({
  vals: Type.Array(Type.Unknown(), {
    description:
      "One value per reference, in order. A value is null if the object exists, but does not have the part or the table row to which the reference points.",
  }),
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
    project_id: Type.String({ description: "Project, as `<entity>/<project>`." }),
    object_id: Type.String({ description: "Name of the object." }),
    digest: Type.String({ description: "Digest of the version." }),
    version_index: Type.Integer({ description: "Index of the version among the object's versions, from 0." }),
    is_latest: Type.Integer({ description: "1 if this is the newest version of the object, otherwise 0." }),
    kind: Type.Enum(["object", "op"]),
    base_object_class: orNull(Type.String(), { description: "Base class of the object." }),
    leaf_object_class: orNull(Type.String(), { description: "The object's own class." }),
    created_at: Type.String({ format: "date-time" }),
    wb_user_id: Type.String({ description: "Owner of the key that published the version." }),
    val: Type.Unknown({ description: "Content of the object; null with `metadata_only`." }),
  },
  { title: "WeaveObject" },
);
export const objectReadAnswerSchema = Type.Object({ obj: objectSchema });
export const objectQueryAnswerSchema = Type.Object({ objs: Type.Array(objectSchema) });

/** Returns a published object as JSON. Inserts its stored content unchanged, so that numbers keep their notation. */
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
