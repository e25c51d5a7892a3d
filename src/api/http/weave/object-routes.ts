// Routes that publish and read objects of Weave clients, such as prompts and datasets.
import type { FastifyInstance, FastifyReply } from "fastify";
import type { PublishedObject } from "../../../base/domain/traces/published-object.ts";
import {
  objectDeleteAnswerSchema,
  objectDeleteForm,
  objectPublishAnswerSchema,
  objectPublishForm,
  objectQueryAnswerSchema,
  objectQueryForm,
  objectReadAnswerSchema,
  objectReadForm,
  objectText,
  type ObjectQueryBody,
} from "../../wire/weave/objects.ts";
import type { BodyReader } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { readsPage } from "../memory-budget/stored-reads.ts";
import { weaveEndpoints } from "./weave-endpoints.ts";

export function objectRoutes(
  app: FastifyInstance,
  { objects, settings }: HttpDependencies,
  bodies: BodyReader,
): void {
  const on = weaveEndpoints(app);
  on(
    "POST /obj/create",
    {
      summary: "Publish an object",
      description:
        "Stores the content as a new version of the named object; it is on disk before the server answers. Publishing the same content again has no effect. An annotation spec is refused if the server cannot check annotations against its `field_schema`.",
      body: bodies.form("published object", objectPublishForm),
      answer: "The version's digest.",
      json: objectPublishAnswerSchema,
      fieldPaths: {
        project_id: ["body", "obj", "project_id"],
        expected_digest: ["body", "obj", "expected_digest"],
      },
      options: { bodyLimit: settings.feedbackBodyBytes },
    },
    async ({ body: { value: input }, caller }) => {
      const { digest, name } = await objects.publish(input, caller);
      return { digest, object_id: name };
    },
  );
  on(
    "POST /obj/read",
    {
      summary: "Read a published object",
      body: objectReadForm,
      answer: "The object.",
      json: objectReadAnswerSchema,
      options: readsPage,
    },
    async ({ body, caller, reply }) => {
      const wanted = {
        projectId: body.project_id,
        kind: null,
        name: body.object_id,
        version: body.digest,
      };
      const object = await objects.read(wanted, caller);
      return jsonText(reply, `{"obj":${objectText(object, body.metadata_only !== true)}}`);
    },
  );
  on(
    "POST /objs/query",
    {
      summary: "List published objects",
      body: objectQueryForm,
      answer: "The versions of the objects.",
      json: objectQueryAnswerSchema,
      options: readsPage,
    },
    async ({ body, caller, reply }) => {
      const listed = await objects.list(body.project_id, filterOf(body), sliceOf(body), caller);
      const text = (object: PublishedObject): string => objectText(object, body.metadata_only !== true);
      return jsonText(reply, `{"objs":[${listed.map(text).join(",")}]}`);
    },
  );
  on(
    "POST /obj/delete",
    {
      summary: "Delete versions of a published object",
      description:
        "Permanently deletes the versions. Annotations that refer to a deleted annotation spec are no longer checked.",
      body: objectDeleteForm,
      answer: "The number of versions deleted.",
      json: objectDeleteAnswerSchema,
      fieldPaths: { not_found: ["body", "object_id"] },
    },
    async ({ body: { project_id: projectId, object_id: name, digests = null }, caller }) => ({
      num_deleted: await objects.delete(projectId, name, digests, caller),
    }),
  );
}

/** Sets the content type of an answer that is already JSON text, and returns the text. */
export function jsonText(reply: FastifyReply, text: string): string {
  reply.type("application/json; charset=utf-8");
  return text;
}

function filterOf({ filter }: ObjectQueryBody) {
  const { is_op: isOp } = filter ?? {};
  const kind = typeof isOp !== "boolean" ? null : isOp ? ("op" as const) : ("object" as const);
  return {
    kind,
    names: filter?.object_ids ?? null,
    baseClasses: filter?.base_object_classes ?? null,
    leafClasses: filter?.leaf_object_classes ?? null,
    latestOnly: filter?.latest_only === true,
  };
}

function sliceOf({ limit, offset, sort_by: sortBy }: ObjectQueryBody) {
  const [order] = sortBy ?? [];
  return {
    limit: limit ?? 100,
    offset: offset ?? 0,
    order: {
      by: order?.field === "created_at" ? ("createdAt" as const) : ("name" as const),
      isDescending: order?.direction === "desc",
    },
  };
}
