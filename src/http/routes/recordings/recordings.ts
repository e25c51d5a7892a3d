// Recorded completions: lists of them, each whole with what was said of it, and deleting one.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { mayReach, refuseOtherEntity } from "../../../domain/access.ts";
import { parseProjectId } from "../../../domain/project.ts";
import type { CompletionFilter, ListedCompletion } from "../../../domain/recordings/completion-store.ts";
import { notFound, quoted, ServiceError } from "../../../domain/service-error.ts";
import type { ValueOf } from "../../../wire/checked.ts";
import { locate } from "../../../wire/places.ts";
import {
  callQuerySchema,
  numberIn,
  outlinePageBody,
  outlinePageSchema,
  recordedFilter,
  recordedQuerySchema,
} from "../../../wire/recordings/outlines.ts";
import { deletedSchema, recordedSchema, recordedText } from "../../../wire/recordings/recorded-body.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { readQuery } from "../../input/query.ts";
import { sendPieces } from "../../patient-answer.ts";
import { readsPage } from "../../reading/stored-reads.ts";

const documented = { tags: ["recordings"], security: [{ bearer: [] }] };

interface CallPath {
  Params: { request_id: string };
}

const callParameters = {
  type: "object",
  properties: {
    request_id: { type: "string", description: "Of the answer, with or without `chatcmpl-` before it." },
  },
} as const;

export function recordingRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { completions, settings } = dependencies;
  app.get(
    "/v1/preview/completions",
    {
      ...readsPage,
      schema: {
        summary: "List recorded completions",
        querystring: recordedQuerySchema,
        response: answered(
          "A page of what lists say of each: the newest first unless asked. One that looked at a hundred thousand and found few has fewer, and more to come.",
          { json: outlinePageSchema },
        ),
        ...documented,
      },
    },
    async (request, reply) => {
      const query = readQuery(recordedQuerySchema, request, reply);
      const filter = await filterOf(dependencies, request, query);
      const page = {
        after: numberAfter(query.after),
        limit: query.limit ?? 20,
        order: query.order ?? "desc",
      };
      return outlinePageBody(await completions.list(filter, page));
    },
  );
  app.get<CallPath>(
    "/v1/preview/completions/:request_id",
    {
      ...readsPage,
      schema: {
        summary: "Read a recorded completion",
        params: callParameters,
        querystring: callQuerySchema,
        response: answered("All that is recorded of it, and what feedback there is on it.", {
          json: recordedSchema,
        }),
        ...documented,
      },
    },
    async (request, reply) => {
      const listed = await reachCompletion(dependencies, request, reply);
      const stored = await completions.find(listed);
      if (stored === null) throw missing(request.params.request_id);
      const feedback = await completions.feedbackOn(listed, feedbackMax);
      reply.type("application/json; charset=utf-8");
      return sendPieces(reply, recordedText(stored, feedback), settings);
    },
  );
  app.delete<CallPath>(
    "/v1/preview/completions/:request_id",
    {
      schema: {
        summary: "Delete a recorded completion",
        params: callParameters,
        querystring: callQuerySchema,
        response: answered("It is gone; feedback on it stays.", { json: deletedSchema }),
        ...documented,
      },
    },
    async (request, reply) => {
      const listed = await reachCompletion(dependencies, request, reply);
      if (!(await completions.delete(listed))) throw missing(request.params.request_id);
      return { id: `chatcmpl-${listed.requestId}`, object: "chat.completion.deleted", deleted: true };
    },
  );
}

/** Records that are named with a completion. */
const feedbackMax = 1000;

/** @throws ServiceError `forbidden` for another entity's project or model, `not_found` for a model that there is not */
async function filterOf(
  { directory }: Pick<HttpDependencies, "directory">,
  { caller }: FastifyRequest,
  query: ValueOf<typeof recordedQuerySchema>,
): Promise<CompletionFilter> {
  const filter = recordedFilter(query);
  const { project = null, model = null } = query;
  if (project !== null) reachProject(caller, project);
  const found = model === null ? null : await directory.find(model, caller).catch(atModel);
  if (found !== null && found.modelId === null) throw baseModel(found.name);
  const isVersion = model !== null && /:step\d+$/.test(model);
  return {
    ...filter,
    step: filter.step ?? (isVersion ? (found?.step ?? null) : null),
    // A model is its entity's and its project's.
    entity: found === null && project === null && caller.role !== "admin" ? caller.entity : null,
    projectId: project,
    modelId: found?.modelId ?? null,
  };
}

function atModel(error: unknown): never {
  throw locate(error, { model: ["query", "model"] });
}

function baseModel(name: string): ServiceError {
  const message = `${quoted(name)} is a base model, whose answers are not recorded. Name a trained model.`;
  return new ServiceError({
    code: "invalid",
    faults: [{ location: ["query", "model"], message, type: "value_error" }],
  });
}

/** @throws ServiceError `invalid` for what names no project, `forbidden` for another entity's */
function reachProject(caller: FastifyRequest["caller"], project: string): void {
  const parsed = parseProjectId(project);
  if (parsed === null) {
    const message = `project is ${quoted(project)}; write it as <entity>/<project>.`;
    const faults = [{ location: ["query", "project"], message, type: "value_error" }];
    throw new ServiceError({ code: "invalid", faults });
  }
  try {
    refuseOtherEntity(caller, parsed.entity, `The project ${quoted(project)}`, "project");
  } catch (error) {
    throw locate(error, { project: ["query", "project"] });
  }
}

/**
 * The one of the path's request that the caller may reach.
 *
 * @throws ServiceError `not_found`, also for another entity's; `invalid` where several projects have one and none is named
 */
export async function reachCompletion(
  { completions }: Pick<HttpDependencies, "completions">,
  request: FastifyRequest<CallPath>,
  reply: FastifyReply,
): Promise<ListedCompletion> {
  const { project = null } = readQuery(callQuerySchema, request, reply);
  const { caller, params } = request;
  if (project !== null) reachProject(caller, project);
  const requestId = params.request_id.replace(/^chatcmpl-/, "");
  const filter = { ...everything, projectId: project, requestId };
  const { items } = await completions.list(filter, { after: null, limit: 100, order: "desc" });
  const reached = items.filter(({ projectId }) => mayReach(caller, entityOf(projectId)));
  // What an administrator calls by its id is its own entity's where there is one.
  const own = reached.filter(({ projectId }) => entityOf(projectId) === caller.entity);
  const [found, other] = own.length > 0 ? own : reached;
  if (found === undefined) throw missing(params.request_id);
  if (other !== undefined) throw ambiguous(params.request_id, [found, other]);
  return found;
}

const everything: CompletionFilter = {
  entity: null,
  projectId: null,
  modelId: null,
  step: null,
  requestId: null,
  endedFrom: null,
  endedBefore: null,
  feedback: null,
};

function entityOf(projectId: string): string {
  return projectId.split("/", 1)[0] ?? "";
}

function missing(requestId: string): unknown {
  return locate(notFound("recorded completion", requestId.slice(0, 200)), {
    not_found: ["path", "request_id"],
  });
}

function ambiguous(requestId: string, found: readonly ListedCompletion[]): ServiceError {
  const projects = found.map(({ projectId }) => projectId).join(", ");
  const message = `Several projects have an answer of ${quoted(requestId)} (${projects}, ...); say which in project.`;
  return new ServiceError({
    code: "invalid",
    faults: [{ location: ["query", "project"], message, type: "value_error" }],
  });
}

function numberAfter(after: string | undefined): number | null {
  // An empty cursor is what clients send back from an empty page.
  if (after === undefined || after === "") return null;
  const number = numberIn(after);
  if (number !== null) return number;
  const message = `after is ${quoted(after)}, which is no place in this list. Use last_id of the page before`;
  const faults = [{ location: ["query", "after"], message, type: "value_error" }];
  throw new ServiceError({ code: "invalid", message: `${message}.`, faults });
}
