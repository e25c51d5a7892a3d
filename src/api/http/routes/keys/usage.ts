// Route that reports usage by key. Members see the usage of their own entity, administrators the usage of all entities.
import type { FastifyInstance } from "fastify";
import { usageId, type UsageFilter } from "../../../../base/domain/keys/usage.ts";
import {
  usageAnswer,
  usageCsv,
  usageExportQuerySchema,
  usageFilter,
  usageQuerySchema,
} from "../../../wire/keys/usage.ts";
import { pageBody, pageRequest, pageSchema } from "../../../wire/page.ts";
import { usageCosts } from "../../costs/model-costs.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { resolveEntity } from "./resolve-entity.ts";
import { sendPieces } from "../../paced-answer.ts";

export function usageRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { usage, settings } = dependencies;
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
    async ({ query, caller }) => {
      const filter = usageFilter(query, resolveEntity(caller, query.entity));
      const { rows, hasMore } = await usage.list(filter, pageRequest(query, "desc"));
      const items = (await usageCosts(rows, dependencies)).map((row) => ({ ...row, id: usageId(row) }));
      return pageBody({ items, hasMore }, usageAnswer.body);
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
      return sendPieces(reply, linesOf(dependencies, filter), settings);
    },
  );
}

/** Yields the CSV header line, then a piece for each page of usage. */
async function* linesOf(dependencies: HttpDependencies, filter: UsageFilter): AsyncGenerator<string, void> {
  const csv = usageCsv(dependencies.prices.currency !== null);
  yield csv.header;
  for (let after: string | null = null, hasMore = true; hasMore;) {
    const page = await dependencies.usage.list(filter, { after, limit: 100, order: "asc" });
    yield (await usageCosts(page.rows, dependencies)).map(csv.line).join("");
    const last = page.rows.at(-1);
    after = last === undefined ? null : usageId(last);
    hasMore = page.hasMore && after !== null;
  }
}
