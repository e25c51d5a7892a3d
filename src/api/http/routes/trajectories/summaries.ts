// Routes that return summaries and counts of a model's stored trajectories, and single whole trajectories by their
// number.
import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { present } from "../../../../base/domain/assert.ts";
import { costOf } from "../../../../base/domain/costs/prices.ts";
import type { NumberedPageRequest } from "../../../../base/domain/page.ts";
import { notFound, quoted, ServiceError } from "../../../../base/domain/service-error.ts";
import type { ListedOutline } from "../../../../base/domain/summaries/trajectory-outline.ts";
import { searchWordsMax } from "../../../../base/domain/text/searched-words.ts";
import { searchNote } from "../../../wire/fields/searched-text.ts";
import {
  outlineCountQuerySchema,
  outlineAnswer,
  outlineCountsAnswer,
  outlineFilter,
  outlineQuerySchema,
} from "../../../wire/trajectories/summaries.ts";
import { type RowFilter, rowSchema } from "../../../wire/trajectories/rows.ts";
import { numberedPageBody, numberIn, pageSchema } from "../../../wire/page.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { sendPieces } from "../../paced-answer.ts";
import type { ReadBudget } from "../../memory-budget/read-budget.ts";
import { beginReading, readsPage } from "../../memory-budget/stored-reads.ts";
import type { RowReader } from "../../rows/row-reader.ts";
import { storedRow } from "../../rows/stored-rows.ts";
import { searchPage } from "../../rows/word-search.ts";
import { reachModel } from "../reach.ts";

/** Maximum size in bytes of a trajectory that a client can read whole. */
const rowBytesMax = 16 * 1024 * 1024;

export function outlineRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  { reads, reader }: { readonly reads: ReadBudget; readonly reader: RowReader },
): void {
  const { trajectories, jobs, settings, clock, prices } = dependencies;
  const on = endpoints(app, { tag: "trajectories", scheme: "bearer" });
  on(
    "GET /v1/preview/models/:model_id/trajectories/outlines",
    {
      summary: "List summaries of stored trajectories",
      query: outlineQuerySchema,
      answer:
        "A page of summaries, newest first by default. A request examines at most 100,000 trajectories (10,000 with `metric`), so a page may have fewer than `limit` items although `has_more` is true. " +
        searchNote +
        " A search by `metadata` does the same.",
      json: pageSchema(outlineAnswer.schema),
      options: readsPage,
    },
    async ({ params, query, caller, request }) => {
      const { words, metadata, ...filter } = outlineFilter(query);
      const { limit = 20, order = "desc" } = query;
      const page = { after: numberAfter(query.after), limit, order };
      const model = await reachModel(dependencies, caller, params.model_id);
      const body = (outline: ListedOutline) => {
        const { promptTokenCount: promptTokens, tokenCount: completionTokens } = outline;
        const tokens = promptTokens === undefined ? {} : { promptTokens, completionTokens };
        return outlineAnswer.body({ ...outline, ...costOf(prices, model.baseModel, tokens) });
      };
      const list = (part: NumberedPageRequest) => trajectories.listOutlines(model.id, filter, part);
      const candidates = [...words, ...metadataWords(metadata)].slice(0, searchWordsMax);
      if (words.length + metadata.length === 0) return numberedPageBody(await list(page), body);
      const bounds = { count: 1, bytes: rowBytesMax };
      const read = {
        model,
        filter: { words, metadata },
        bounds,
        share: present(request.readShare, "read share"),
        client: caller.entity,
      };
      const found = await searchPage(
        {
          list,
          candidates: (outlines, turn) => trajectories.findWords(outlines, candidates, turn),
          contains: async (outline) =>
            (await storedRow({ trajectories, jobs, reader }, { ...read, outline })) !== null,
        },
        page,
        { entity: caller.entity, clock },
      );
      return numberedPageBody(found, body);
    },
  );
  on(
    "GET /v1/preview/models/:model_id/trajectories/counts",
    {
      summary: "Count stored trajectories",
      query: outlineCountQuerySchema,
      answer: "Number and mean reward of trajectories, by source and split.",
      json: outlineCountsAnswer.schema,
    },
    async ({ params, query: { step = null }, caller }) => {
      const model = await reachModel(dependencies, caller, params.model_id);
      return outlineCountsAnswer.body({ counts: await trajectories.countOutlines(model.id, step) });
    },
  );
  on(
    "GET /v1/preview/models/:model_id/trajectories/:number",
    {
      summary: "Read a stored trajectory",
      answer: "The whole trajectory as it was sent. If it is larger than 16 MiB, its long fields are empty.",
      json: rowSchema,
    },
    async ({ params: { model_id: modelId, number }, caller, reply }) => {
      const model = await reachModel(dependencies, caller, modelId);
      const named = numberIn(number);
      const outline = named === null ? null : await trajectories.findOutline(model.id, named);
      const missing = () => notFound("trajectory", number.slice(0, 200));
      if (outline === null) throw missing();
      const share = await beginReading(reply, reads);
      const bounds = { count: 1, bytes: rowBytesMax };
      const asked = { model, outline, bounds, share, client: caller.entity };
      const row = await storedRow({ trajectories, jobs, reader }, asked);
      if (row === null) throw missing();
      reply.type("application/json; charset=utf-8");
      return sendPieces(reply, Readable.from([row]), settings);
    },
  );
}

/**
 * Returns parts of keys and values that the stored JSON of every match contains. The parts are runs of letters and
 * digits, because JSON may escape other characters.
 */
function metadataWords(metadata: RowFilter["metadata"]): readonly string[] {
  return metadata.flatMap(({ key, value }) => `${key} ${value}`.match(/[\p{L}\p{N}]+/gu) ?? []);
}

function numberAfter(after: string | undefined): number | null {
  // An empty page has an empty cursor, which clients send back with their next request.
  if (after === undefined || after === "") return null;
  const number = numberIn(after);
  if (number !== null) return number;
  const message = `after is ${quoted(after)}, which is not a trajectory's number. Use last_id of the previous page`;
  const faults = [{ location: ["query", "after"], message, type: "value_error" }];
  throw new ServiceError({ code: "invalid", message: `${message}.`, faults });
}
