// Finds what was recorded for a caller, and deletes it: another entity's is answered like what does not exist.
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Caller, mayReach, reachOf, refuseOtherOwner } from "../../../../base/domain/access.ts";
import { parseProjectId } from "../../../../base/domain/project.ts";
import type {
  CompletionFilter,
  ListedCompletion,
} from "../../../../base/domain/recordings/completion-store.ts";
import { notFound, quoted, ServiceError } from "../../../../base/domain/service-error.ts";
import type { ValueOf } from "../../../wire/checked.ts";
import { locate } from "../../../wire/places.ts";
import {
  callQuerySchema,
  recordedFilter,
  type recordedQuerySchema,
} from "../../../wire/recordings/outlines.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { readQuery } from "../../input/query.ts";

export interface CallPath {
  Params: { request_id: string };
}

/** @throws ServiceError `forbidden` for another entity's project or model, `not_found` for a model that there is not */
export async function filterOf(
  { directory }: Pick<HttpDependencies, "directory">,
  { caller }: FastifyRequest,
  query: ValueOf<typeof recordedQuerySchema>,
): Promise<CompletionFilter> {
  const filter = recordedFilter(query);
  const { project = null, model = null } = query;
  if (project !== null) reachProject(caller, project);
  const reach = whatIsSeen(caller);
  const { modelId, step } = await versionIn(directory, model, caller);
  return {
    ...filter,
    step: filter.step ?? step,
    // A model is its entity's and its project's.
    entity: modelId === null && project === null ? reach.entity : null,
    projectId: project ?? (modelId === null ? reach.projectId : null),
    modelId,
  };
}

/** What of a filter keeps to the recordings that a caller may see. */
export function whatIsSeen(caller: Caller): Pick<CompletionFilter, "entity" | "projectId"> {
  const { entity, project } = reachOf(caller) ?? { entity: null, project: null };
  return project === null ? { entity, projectId: null } : { entity: null, projectId: `${entity}/${project}` };
}

/**
 * The model, and the version where the name has one, that a query names.
 *
 * @throws ServiceError as {@link filterOf}; `invalid` for a base model
 */
export async function versionIn(
  directory: HttpDependencies["directory"],
  name: string | null,
  caller: Caller,
): Promise<Pick<CompletionFilter, "modelId" | "step">> {
  if (name === null) return { modelId: null, step: null };
  const { modelId, step, name: known } = await directory.find(name, caller).catch(atModel);
  if (modelId === null) throw baseModel(known);
  return { modelId, step: /:step\d+$/.test(name) ? step : null };
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
    refuseOtherOwner(caller, parsed, `The project ${quoted(project)}`, "project");
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
  const reached = items.filter(({ projectId }) => {
    const owned = parseProjectId(projectId);
    return owned !== null && mayReach(caller, owned);
  });
  // What an administrator calls by its id is its own entity's where there is one.
  const own = reached.filter(({ projectId }) => entityOf(projectId) === caller.entity);
  const [found, other] = own.length > 0 ? own : reached;
  if (found === undefined) throw missing(params.request_id);
  if (other !== undefined) throw ambiguous(params.request_id, [found, other]);
  return found;
}

/**
 * Deletes the one of the path's request that the caller may reach, and says so as OpenAI's clients read it.
 *
 * @throws ServiceError as {@link reachCompletion}
 */
export async function deleteCompletion(
  dependencies: Pick<HttpDependencies, "completions">,
  request: FastifyRequest<CallPath>,
  reply: FastifyReply,
): Promise<object> {
  const listed = await reachCompletion(dependencies, request, reply);
  if (!(await dependencies.completions.delete(listed))) throw missing(request.params.request_id);
  return { id: `chatcmpl-${listed.requestId}`, object: "chat.completion.deleted", deleted: true };
}

export const everything: CompletionFilter = {
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

export function missing(requestId: string): unknown {
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
