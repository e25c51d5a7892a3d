// Route that reports usage by key. Members see the usage of their own entity, administrators the usage of all entities.
import type { FastifyInstance } from "fastify";
import { usageId, type UsageFilter, type UsageStore } from "../../../../base/domain/keys/usage.ts";
import {
  usageAnswer,
  usageCsv,
  usageExportQuerySchema,
  usageFilter,
  usageQuerySchema,
} from "../../../wire/keys/usage.ts";
import { pageAnswer, pageRequest, pageSchema } from "../../../wire/page.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { resolveEntity } from "./resolve-entity.ts";
import { sendPieces } from "../../paced-answer.ts";

export function usageRoutes(app: FastifyInstance, { usage, settings }: HttpDependencies): void {
  const on = endpoints(app, { tag: "keys", scheme: "bearer" });
  on(
    "GET /v1/preview/usage",
    {
      summary: "Read usage by key",
      description: "Returns one row per day, key and model. Usage of the last few seconds may be missing.",
      query: usageQuerySchema,
      answer: "A page of rows, latest day first by default.",
      json: pageSchema(usageAnswer.schema),
    },
    ({ query, caller }) => {
      const filter = usageFilter(query, resolveEntity(caller, query.entity));
      const page = usage.list(filter, pageRequest(query, "desc")).then(({ rows, hasMore }) => ({
        items: rows.map((row) => ({ ...row, id: usageId(row) })),
        hasMore,
      }));
      return pageAnswer(page, usageAnswer.body);
    },
  );
  on(
    "GET /v1/preview/usage/export",
    {
      summary: "Export usage by key as CSV",
      query: usageExportQuerySchema,
      answer: "One line per day, key and model, earliest day first.",
      csv: { type: "string" },
    },
    ({ query, caller, reply }) => {
      const filter = usageFilter(query, resolveEntity(caller, query.entity));
      reply.type("text/csv; charset=utf-8").header("content-disposition", 'attachment; filename="usage.csv"');
      return sendPieces(reply, linesOf(usage, filter), settings);
    },
  );
}

/** Yields the CSV header line, then a piece for each page of usage. */
async function* linesOf(usage: Pick<UsageStore, "list">, filter: UsageFilter): AsyncGenerator<string, void> {
  yield usageCsv.header;
  for (let after: string | null = null, hasMore = true; hasMore;) {
    const page = await usage.list(filter, { after, limit: 100, order: "asc" });
    yield page.rows.map(usageCsv.line).join("");
    const last = page.rows.at(-1);
    after = last === undefined ? null : usageId(last);
    hasMore = page.hasMore && after !== null;
  }
}
