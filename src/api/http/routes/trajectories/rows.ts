// Routes that return the stored trajectories of a model as filtered rows, in pages or as a file.
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Caller } from "../../../../base/domain/access.ts";
import { pageBytesMax } from "../../../../base/domain/page.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import {
  groupSelection,
  rowExportQuerySchema,
  rowPageQuerySchema,
  rowSelection,
  type RowSelection,
} from "../../../wire/trajectories/row-query.ts";
import { everyRow } from "../../../wire/trajectories/row-tasks.ts";
import { rowPageSchema, parseRowPosition, type RowPosition } from "../../../wire/trajectories/rows.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { sendPieces } from "../../paced-answer.ts";
import type { ReadBudget } from "../../memory-budget/read-budget.ts";
import { beginReading } from "../../memory-budget/stored-reads.ts";
import { jsonLines, parquetFile } from "../../rows/row-export.ts";
import { rowPage } from "../../rows/row-page.ts";
import { RowReader } from "../../rows/row-reader.ts";
import { requireTrajectories, storedGroups, storedRows, type RowRequest } from "../../rows/stored-rows.ts";
import { reachModel } from "../reach.ts";
import { outlineRoutes } from "./summaries.ts";

export function trajectoryRowRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  reads: ReadBudget,
): void {
  const { trajectories, jobs, settings } = dependencies;
  const reader = new RowReader();
  app.addHook("onClose", () => reader.close());
  outlineRoutes(app, dependencies, { reads, reader });
  const rowsOf = (request: RowRequest) => storedRows({ trajectories, jobs, reader }, request);
  const on = endpoints(app, { tag: "trajectories", scheme: "bearer" });
  const begin = async (modelId: string, caller: Caller, selection: RowSelection, reply: FastifyReply) => {
    const model = await reachModel(dependencies, caller, modelId);
    await requireTrajectories(jobs, model, selection);
    return { model, client: caller.entity, share: await beginReading(reply, reads) };
  };
  on(
    "GET /v1/preview/models/:model_id/trajectories/rows",
    {
      summary: "List stored trajectories with their content",
      query: rowPageQuerySchema,
      answer:
        "A page of trajectories, in the order in which they were stored. A search with few matches may return an empty page although `has_more` is true.",
      json: rowPageSchema,
    },
    async ({ params, query, caller, reply }) => {
      const selection = rowSelection(query);
      const after = placeIn(query.after);
      const limit = query.limit ?? 20;
      // Reads one row more than the page may have, to find out whether there is a next page.
      const bounds = { count: limit + 1, bytes: pageBytesMax };
      const chunks = rowsOf({
        ...(await begin(params.model_id, caller, selection, reply)),
        selection,
        after,
        bounds,
      });
      const page = await rowPage(chunks, { limit });
      reply.type("application/json; charset=utf-8");
      return sendPieces(reply, Readable.from(page), settings);
    },
  );
  on(
    "GET /v1/preview/models/:model_id/trajectories/export",
    {
      summary: "Export stored trajectories as a file",
      query: rowExportQuerySchema,
      answer:
        "The stored trajectories or groups, in the order in which they were stored. With `format` `jsonl`, each line is one trajectory. With `groups`, each line is one group. With `parquet`, each row is one trajectory.",
      lines: { type: "string" },
      parquet: { type: "string", format: "binary" },
    },
    async ({ params, query: { format, ...query }, caller, reply }) => {
      const isOfGroups = format === "groups";
      const selection = isOfGroups ? groupSelection(query) : rowSelection(query);
      const { model, client, share } = await begin(params.model_id, caller, selection, reply);
      const name = `${model.name.replaceAll(/[^\w.-]/g, "_")}-${isOfGroups ? "groups.jsonl" : `trajectories.${format}`}`;
      const type = format === "parquet" ? "application/vnd.apache.parquet" : "application/jsonl";
      reply.type(type).header("content-disposition", `attachment; filename="${name}"`);
      if (isOfGroups) {
        const groups = storedGroups({ trajectories, jobs, reader }, { model, selection, client });
        return sendPieces(reply, groups, settings);
      }
      const chunks = rowsOf({ model, client, share, selection, after: null, bounds: everyRow });
      return sendPieces(
        reply,
        format === "jsonl" ? jsonLines(chunks) : parquetFile(chunks, reader, client),
        settings,
      );
    },
  );
}

function placeIn(after: string | undefined): RowPosition | null {
  // An empty page has an empty cursor, which clients send back with their next request.
  if (after === undefined || after === "") return null;
  const place = parseRowPosition(after);
  if (place !== null) return place;
  const message = "after is not a cursor of this list. Use last_id of the previous page";
  const faults = [{ location: ["query", "after"], message, type: "value_error" }];
  throw new ServiceError({ code: "invalid", message: `${message}.`, faults });
}
