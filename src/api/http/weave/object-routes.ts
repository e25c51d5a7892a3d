// Publishing objects and reading them, as clients of Weave do.
import type { FastifyInstance, FastifyReply } from "fastify";
import type { PublishedObject } from "../../../base/domain/traces/published-object.ts";
import { locate } from "../../wire/places.ts";
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
import { readApart, type BodyReader } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { nameIgnored } from "../input/ignored-fields.ts";
import { readBody } from "../input/read-body.ts";
import { readsPage } from "../reading/stored-reads.ts";
import { documented, inBody } from "./weave-route.ts";

export function objectRoutes(app: FastifyInstance, dependencies: HttpDependencies, bodies: BodyReader): void {
  const { objects, settings } = dependencies;
  app.post(
    "/obj/create",
    {
      ...readApart,
      bodyLimit: settings.feedbackBodyBytes,
      schema: documented({
        summary: "Publish an object",
        description:
          "Makes the content a version of its name, durably. The same content again adds nothing. The `field_schema` of an annotation spec is read, and refused where annotations could not be held to it.",
        body: objectPublishForm.schema,
        response: answered("What names it.", { json: objectPublishAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const { value: input, ignored } = await bodies.read("published object", request);
      nameIgnored(reply, ignored);
      const { digest, name } = await objects.publish(input, request.caller).catch(inBody("obj"));
      return { digest, object_id: name };
    },
  );
  app.post(
    "/obj/read",
    {
      ...readsPage,
      schema: documented({
        summary: "Read a published object",
        body: objectReadForm.schema,
        response: answered("The object.", { json: objectReadAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const body = readBody(objectReadForm, request, reply);
      const wanted = {
        projectId: body.project_id,
        kind: null,
        name: body.object_id,
        version: body.digest,
      };
      const object = await objects.read(wanted, request.caller).catch(inBody());
      return jsonText(reply, `{"obj":${objectText(object, body.metadata_only !== true)}}`);
    },
  );
  app.post(
    "/objs/query",
    {
      ...readsPage,
      schema: documented({
        summary: "List published objects",
        body: objectQueryForm.schema,
        response: answered("Their versions.", { json: objectQueryAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const body = readBody(objectQueryForm, request, reply);
      const listed = await objects
        .list(body.project_id, filterOf(body), sliceOf(body), request.caller)
        .catch(inBody());
      const text = (object: PublishedObject): string => objectText(object, body.metadata_only !== true);
      return jsonText(reply, `{"objs":[${listed.map(text).join(",")}]}`);
    },
  );
  app.post(
    "/obj/delete",
    {
      schema: documented({
        summary: "Delete versions of a published object",
        description:
          "They are gone for good. Annotations that name a spec which is gone are held to nothing.",
        body: objectDeleteForm.schema,
        response: answered("How many there were.", { json: objectDeleteAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const body = readBody(objectDeleteForm, request, reply);
      const { project_id: projectId, object_id: name, digests = null } = body;
      const count = await objects
        .delete(projectId, name, digests, request.caller)
        .catch((error: unknown) => inBody()(locate(error, { not_found: ["object_id"] })));
      return { num_deleted: count };
    },
  );
}

/** The answer of a handler whose JSON is a text already. */
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
