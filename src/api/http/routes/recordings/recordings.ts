// Routes that list recorded completions, read them with their messages and feedback, and delete them. The answers have
// the form of OpenAI's stored chat completions. Another entity's completions are answered like unknown ones.
import type { FastifyInstance } from "fastify";
import { type Caller, mayReach, reachOf, refuseOtherOwner } from "../../../../base/domain/access.ts";
import {
  fittingCount,
  type NumberedPage,
  type NumberedPageRequest,
  pageBytesMax,
} from "../../../../base/domain/page.ts";
import type { Cost } from "../../../../base/domain/costs/prices.ts";
import { parseProjectId } from "../../../../base/domain/project.ts";
import type {
  CompletionFilter,
  CompletionStore,
  ListedCompletion,
  StoredCompletion,
} from "../../../../base/domain/recordings/completion-store.ts";
import { notFound, quoted, ServiceError } from "../../../../base/domain/service-error.ts";
import type { ValueOf } from "../../../wire/body.ts";
import { numberedPageBody, numberIn, pageBody } from "../../../wire/page.ts";
import { deletedSchema, recordedSchema, recordedText } from "../../../wire/recordings/recorded-body.ts";
import {
  callQuerySchema,
  messagePageSchema,
  messageQuerySchema,
  unknownCursor,
  sliceOf,
  storedBody,
  storedFilter,
  storedMessages,
  storedPageSchema,
  storedQuerySchema,
  withMetadata,
} from "../../../wire/recordings/stored-chats.ts";
import { searchNote } from "../../../wire/fields/searched-text.ts";
import { modelCosts } from "../../costs/model-costs.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { sendPieces } from "../../paced-answer.ts";
import { readsPage } from "../../memory-budget/stored-reads.ts";
import { completionsWith } from "./recording-words.ts";

/** Maximum number of feedback records that the answer for a completion contains. */
const feedbackMax = 1000;

/**
 * Number of completions that a search for metadata examines. The search then returns the matches found so far, or fails
 * if there are none.
 */
const lookedAtMax = 10_000;

export function recordingRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { completions, directory, settings, clock } = dependencies;
  const on = endpoints(app, { tag: "recordings", scheme: "bearer" });
  on(
    "GET /v1/chat/completions",
    {
      summary: "List recorded chat completions",
      query: storedQuerySchema,
      answer:
        "A page of recorded completions, oldest first by default. A request examines at most 100,000 completions, so a page may have fewer than `limit` items although `has_more` is true. " +
        searchNote,
      json: storedPageSchema,
      options: {
        ...readsPage,
        preHandler: async (request) => {
          request.query = withMetadata(request.query as Readonly<Record<string, unknown>>);
        },
      },
    },
    async ({ query, caller }) => {
      const { words, ...filter } = await filterOf(directory, query, caller);
      const { limit = 20, order = "asc", metadata = {} } = query;
      const asked = { after: await placeOf(completions, query.after ?? "", filter), limit, order };
      const list = (part: NumberedPageRequest) =>
        matching(completions, filter, part, Object.entries(metadata));
      const turn = { entity: caller.entity, clock };
      const page =
        words.length === 0 ? await list(asked) : await completionsWith(words, completions, list, asked, turn);
      const whole = await wholePage(completions, page);
      const items = await costed(whole.items, dependencies);
      return numberedPageBody({ ...whole, items }, storedBody);
    },
  );
  on(
    "GET /v1/chat/completions/:request_id",
    {
      summary: "Read a recorded chat completion",
      query: callQuerySchema,
      answer: "The recorded completion, and the feedback on it.",
      json: recordedSchema,
      options: readsPage,
    },
    async ({ params, query, caller, reply }) => {
      const stored = await read(completions, params.request_id, query, caller);
      const [answer] = await costed([stored], dependencies);
      const feedback = await completions.feedbackOn(stored, feedbackMax);
      reply.type("application/json; charset=utf-8");
      return sendPieces(reply, recordedText(answer, feedback), settings);
    },
  );
  on(
    "GET /v1/chat/completions/:request_id/messages",
    {
      summary: "List the messages of a recorded chat completion",
      query: messageQuerySchema,
      answer: "A page of the messages of the stored request, oldest first by default.",
      json: messagePageSchema,
      options: readsPage,
    },
    async ({ params, query, caller }) => {
      const stored = await read(completions, params.request_id, query, caller);
      return pageBody(sliceOf(storedMessages(stored), query), (item) => item);
    },
  );
  on(
    "DELETE /v1/chat/completions/:request_id",
    {
      summary: "Delete a recorded chat completion",
      query: callQuerySchema,
      answer: "The completion is deleted; feedback on it is kept.",
      json: deletedSchema,
    },
    async ({ params: { request_id: id }, query, caller }) => {
      const listed = await reach(completions, id, query, caller);
      if (!(await completions.delete(listed))) throw missing(id);
      return { id: `chatcmpl-${listed.requestId}`, object: "chat.completion.deleted", deleted: true };
    },
  );
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

/**
 * Returns the filter that a query describes, limited to completions that the caller may see.
 *
 * @throws ServiceError `forbidden` for another entity's project or model, `not_found` for an unknown model
 */
async function filterOf(
  directory: HttpDependencies["directory"],
  query: ValueOf<typeof storedQuerySchema>,
  caller: Caller,
): Promise<CompletionFilter & Pick<ReturnType<typeof storedFilter>, "words">> {
  const filter = storedFilter(query);
  const { project = null, model = null } = query;
  if (project !== null) reachProject(caller, project);
  const { modelId, step } = await versionIn(directory, model, caller);
  // If the query names a model or a project, the caller's access to it was checked above. Otherwise the query is
  // limited to the caller's entity.
  const { entity, ...own } = (modelId ?? project) === null ? seenBy(caller) : everything;
  return { ...filter, step: filter.step ?? step, entity, projectId: project ?? own.projectId, modelId };
}

/** Returns filter fields that select the recordings that the caller may see. */
function seenBy(caller: Caller): Pick<CompletionFilter, "entity" | "projectId"> {
  const { entity, project } = reachOf(caller) ?? { entity: null, project: null };
  return project === null ? { entity, projectId: null } : { entity: null, projectId: `${entity}/${project}` };
}

/**
 * Returns the trained model with this name, and the step if the name ends with one.
 *
 * @throws ServiceError `invalid` for a base model
 */
async function versionIn(
  directory: HttpDependencies["directory"],
  name: string | null,
  caller: Caller,
): Promise<Pick<CompletionFilter, "modelId" | "step">> {
  if (name === null) return { modelId: null, step: null };
  const { modelId, step, name: known } = await directory.find(name, caller);
  if (modelId !== null) return { modelId, step: /:step\d+$/.test(name) ? step : null };
  throw refusal(
    "model",
    `${quoted(known)} is a base model, whose answers are not recorded. Name a trained model.`,
  );
}

/**
 * Checks that the caller may access the project.
 *
 * @throws ServiceError `invalid` for an invalid project name, `forbidden` for another entity's project
 */
function reachProject(caller: Caller, project: string): void {
  const parsed = parseProjectId(project);
  if (parsed === null)
    throw refusal("project", `project is ${quoted(project)}; write it as <entity>/<project>.`);
  refuseOtherOwner(caller, parsed, `The project ${quoted(project)}`, "project");
}

/**
 * Parses a cursor: returns the number of the completion at which a page begins; null for an empty cursor.
 *
 * @throws ServiceError `invalid` if the filter admits no completion with this id, or several
 */
async function placeOf(
  completions: CompletionStore,
  after: string,
  { entity, projectId, modelId }: CompletionFilter,
): Promise<number | null> {
  // An empty page has an empty cursor, which clients send back with their next request.
  if (after === "") return null;
  const number = numberIn(after);
  if (number !== null) return number;
  const filter = { ...everything, entity, projectId, modelId, requestId: idIn(after) };
  const { items } = await completions.list(filter, { after: null, limit: 2, order: "desc" });
  const [last, other] = items;
  if (last === undefined) throw unknownCursor(after);
  if (other !== undefined) throw ambiguous(after, [last, other]);
  return last.number;
}

/**
 * Returns a page of completions that have the requested metadata.
 *
 * @throws ServiceError `too_slow` if none of the first ten thousand has the metadata
 */
async function matching(
  completions: CompletionStore,
  filter: CompletionFilter,
  page: NumberedPageRequest,
  metadata: readonly (readonly [string, string])[],
): Promise<NumberedPage<ListedCompletion>> {
  if (metadata.length === 0) return completions.list(filter, page);
  const matches = (listed: ListedCompletion): boolean =>
    metadata.every(([name, text]) => Object.hasOwn(listed.metadata, name) && listed.metadata[name] === text);
  const found: ListedCompletion[] = [];
  for (let { after } = page, count = 0; ;) {
    const { items, last, hasMore } = await completions.list(filter, { ...page, after, limit: 100 });
    found.push(...items.filter(matches));
    if (found.length > page.limit) {
      const kept = found.slice(0, page.limit);
      return { items: kept, last: kept.at(-1)?.number ?? 0, hasMore: true };
    }
    // A page of fewer than 100 means that the store skipped many completions, so it counts as 1000 examined
    // completions.
    count += items.length === 100 ? 100 : 1000;
    if (!hasMore || (count >= lookedAtMax && found.length > 0)) return { items: found, last, hasMore };
    if (count >= lookedAtMax) throw tooFew();
    after = last;
  }
}

function tooFew(): ServiceError {
  return new ServiceError({
    code: "too_slow",
    message: `None of ${lookedAtMax} completions has this metadata, and there are more. Name a model, or start elsewhere (order, after).`,
  });
}

/**
 * Returns as many completions of a page, each with its messages, as fit into an answer. Skips those that were deleted
 * meanwhile.
 */
async function wholePage(
  completions: CompletionStore,
  page: NumberedPage<ListedCompletion>,
): Promise<NumberedPage<StoredCompletion>> {
  const count = fittingCount(
    page.items.map(({ byteCount }) => byteCount),
    pageBytesMax,
  );
  const items: StoredCompletion[] = [];
  for (const outline of page.items.slice(0, count)) {
    const stored = await completions.find(outline);
    if (stored !== null) items.push(stored);
  }
  if (count === page.items.length) return { ...page, items };
  return { items, last: page.items[count - 1]?.number ?? 0, hasMore: true };
}

/** Returns the completions, each with the cost of its tokens. */
async function costed(
  stored: readonly StoredCompletion[],
  dependencies: HttpDependencies,
): Promise<readonly (StoredCompletion & Cost)[]> {
  const costs = await modelCosts(
    stored.map(({ modelId }) => modelId),
    dependencies,
  );
  return stored.map((one) => ({ ...one, ...costs(one.modelId, one.usage) }));
}

type CallQuery = ValueOf<typeof callQuerySchema>;

async function read(
  completions: CompletionStore,
  id: string,
  query: CallQuery,
  caller: Caller,
): Promise<StoredCompletion> {
  const stored = await completions.find(await reach(completions, id, query, caller));
  if (stored === null) throw missing(id);
  return stored;
}

/**
 * Returns the completion with this request id, if the caller may access it.
 *
 * @throws ServiceError `not_found`, also for another entity's completion; `invalid` if completions of several projects
 * have this id and the query names no project
 */
async function reach(
  completions: CompletionStore,
  id: string,
  { project }: CallQuery,
  caller: Caller,
): Promise<ListedCompletion> {
  if (project !== undefined) reachProject(caller, project);
  const filter = { ...everything, projectId: project ?? null, requestId: idIn(id) };
  const { items } = await completions.list(filter, { after: null, limit: 100, order: "desc" });
  const reached = items.filter(({ projectId }) => {
    const owned = parseProjectId(projectId);
    return owned !== null && mayReach(caller, owned);
  });
  // An administrator may also access completions of other entities. Completions of the administrator's own entity take
  // precedence.
  const own = reached.filter(({ projectId }) => projectId.startsWith(`${caller.entity}/`));
  const [found, other] = own.length > 0 ? own : reached;
  if (found === undefined) throw missing(id);
  if (other !== undefined) throw ambiguous(id, [found, other]);
  return found;
}

function idIn(text: string): string {
  return text.replace(/^chatcmpl-/, "");
}

function missing(id: string): ServiceError {
  return notFound("recorded completion", id.slice(0, 200));
}

function ambiguous(id: string, found: readonly ListedCompletion[]): ServiceError {
  const projects = found.map(({ projectId }) => projectId).join(", ");
  return refusal(
    "project",
    `Several projects have an answer of ${quoted(id)} (${projects}, ...); say which in project.`,
  );
}

function refusal(field: string, message: string): ServiceError {
  return new ServiceError({ code: "invalid", faults: [{ location: [field], message, type: "value_error" }] });
}
