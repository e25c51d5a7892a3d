// What OpenAI's clients call stored chat completions: the recorded ones, listed, read with their messages, and deleted.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type {
  CompletionFilter,
  ListedCompletion,
} from "../../../../base/domain/recordings/completion-store.ts";
import { pageBytesMax } from "../../../../base/domain/page.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { pageBody } from "../../../wire/page.ts";
import { callQuerySchema, noPlace } from "../../../wire/recordings/outlines.ts";
import { deletedSchema } from "../../../wire/recordings/recorded-body.ts";
import {
  messagePageSchema,
  messageQuerySchema,
  metadataIn,
  sliceOf,
  storedAnswer,
  storedAnswerSchema,
  storedMessages,
  storedPageSchema,
  storedQuerySchema,
} from "../../../wire/recordings/stored-chats.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { readQuery } from "../../input/query.ts";
import { readsPage } from "../../reading/stored-reads.ts";
import {
  type CallPath,
  deleteCompletion,
  everything,
  missing,
  reachCompletion,
  versionIn,
  whatIsSeen,
} from "./reach-completions.ts";

const documented = { tags: ["recordings"], security: [{ bearer: [] }] };

const callParameters = {
  type: "object",
  properties: { request_id: { type: "string", description: "The answer's id." } },
} as const;

/** Outlines that are looked at for a page, where few have the metadata that is asked for. */
const lookedAtMax = 10_000;

export function storedChatRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { completions } = dependencies;
  const read = async (request: FastifyRequest<CallPath>, listed: ListedCompletion) => {
    const stored = await completions.find(listed);
    if (stored === null) throw missing(request.params.request_id);
    return stored;
  };
  app.get(
    "/v1/chat/completions",
    {
      ...readsPage,
      schema: {
        summary: "List stored chat completions",
        querystring: storedQuerySchema,
        response: answered(
          "A page of what was recorded, as OpenAI's clients read it: the oldest first unless asked. The recorded completions say more of each.",
          { json: storedPageSchema },
        ),
        ...documented,
      },
    },
    async (request, reply) => {
      const { wanted, others } = metadataIn(request.query as Readonly<Record<string, unknown>>);
      request.query = others;
      const query = readQuery(storedQuerySchema, request, reply);
      const { caller } = request;
      const version = await versionIn(dependencies.directory, query.model ?? null, caller);
      const seen = whatIsSeen(caller);
      const { limit = 20, order = "asc" } = query;
      const found = await matching(dependencies, {
        filter: { ...everything, ...(version.modelId === null ? seen : {}), ...version },
        after: await placeOf(dependencies, query.after ?? "", seen),
        limit,
        order,
        wanted,
      });
      const page = await wholePage(dependencies, found);
      return pageBody(page, (item) => item);
    },
  );
  app.get<CallPath>(
    "/v1/chat/completions/:request_id",
    {
      ...readsPage,
      schema: {
        summary: "Read a stored chat completion",
        params: callParameters,
        querystring: callQuerySchema,
        response: answered("The answer, as OpenAI's clients read it.", { json: storedAnswerSchema }),
        ...documented,
      },
    },
    async (request, reply) =>
      storedAnswer(await read(request, await reachCompletion(dependencies, request, reply))),
  );
  app.get<CallPath>(
    "/v1/chat/completions/:request_id/messages",
    {
      ...readsPage,
      schema: {
        summary: "List the messages of a stored chat completion",
        params: callParameters,
        querystring: messageQuerySchema,
        response: answered("A page of what was sent.", { json: messagePageSchema }),
        ...documented,
      },
    },
    async (request, reply) => {
      const query = readQuery(messageQuerySchema, request, reply);
      const stored = await read(request, await reachCompletion(dependencies, request, reply));
      return pageBody(sliceOf(storedMessages(stored), query), (item) => item);
    },
  );
  app.delete<CallPath>(
    "/v1/chat/completions/:request_id",
    {
      schema: {
        summary: "Delete a stored chat completion",
        params: callParameters,
        querystring: callQuerySchema,
        response: answered("It is gone; feedback on it stays.", { json: deletedSchema }),
        ...documented,
      },
    },
    (request, reply) => deleteCompletion(dependencies, request, reply),
  );
}

interface StoredPageRequest {
  readonly filter: CompletionFilter;
  /** The number to go on behind; null for the first page. */
  readonly after: number | null;
  readonly limit: number;
  readonly order: "asc" | "desc";
  readonly wanted: Readonly<Record<string, string>>;
}

interface Found {
  readonly listed: readonly ListedCompletion[];
  readonly hasMore: boolean;
}

/**
 * The outlines of a page.
 *
 * @throws ServiceError `too_slow` where none of the first ten thousand has the metadata
 */
async function matching(
  { completions }: Pick<HttpDependencies, "completions">,
  { filter, after, limit, order, wanted }: StoredPageRequest,
): Promise<Found> {
  const found: ListedCompletion[] = [];
  let [place, lookedAt, hasMore] = [after, 0, true];
  while (hasMore && found.length <= limit && lookedAt < lookedAtMax) {
    const page = await completions.list(filter, { after: place, limit: 100, order });
    found.push(...page.items.filter(({ metadata }) => says(metadata, wanted)));
    lookedAt += 100;
    place = page.last;
    ({ hasMore } = page);
  }
  if (hasMore && found.length === 0) throw tooFew();
  return { listed: found.slice(0, limit), hasMore: hasMore || found.length > limit };
}

function tooFew(): ServiceError {
  return new ServiceError({
    code: "too_slow",
    message: `None of ${lookedAtMax} completions has this metadata, and there are more. Name a model, or start at another place (order, after).`,
  });
}

function says(metadata: ListedCompletion["metadata"], wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(
    ([name, text]) => Object.hasOwn(metadata, name) && metadata[name] === text,
  );
}

/** As many of them whole as fit in a page; those that went meanwhile are passed over. */
async function wholePage({ completions }: Pick<HttpDependencies, "completions">, { listed, hasMore }: Found) {
  const items: { readonly id: string }[] = [];
  let bytes = 0;
  for (const outline of listed) {
    bytes += outline.byteCount;
    if (items.length > 0 && bytes > pageBytesMax) return { items, hasMore: true };
    const stored = await completions.find(outline);
    if (stored !== null) items.push(storedAnswer(stored));
  }
  return { items, hasMore };
}

/** @throws ServiceError `invalid` for the id of no answer that the caller sees */
async function placeOf(
  { completions }: Pick<HttpDependencies, "completions">,
  after: string,
  seen: ReturnType<typeof whatIsSeen>,
): Promise<number | null> {
  // An empty cursor is what clients send back from an empty page.
  if (after === "") return null;
  const filter = { ...everything, ...seen, requestId: after.replace(/^chatcmpl-/, "") };
  const { items } = await completions.list(filter, { after: null, limit: 1, order: "desc" });
  const [last] = items;
  if (last === undefined) throw noPlace(after);
  return last.number;
}
