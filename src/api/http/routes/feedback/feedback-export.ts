// Routes that export feedback as files for other programs, and compute statistics over it.
import type { FastifyInstance } from "fastify";
import type { FeedbackRecord } from "../../../../base/domain/feedback.ts";
import { loopTurns } from "../../../../base/domain/sharing/loop-turns.ts";
import {
  exportedSelection,
  exportFile,
  type ExportFile,
  feedbackExportForm,
} from "../../../wire/feedback/feedback-export.ts";
import { conditionOf } from "../../../wire/feedback/feedback-queries.ts";
import {
  feedbackStatisticsAnswer,
  feedbackStatisticsForm,
} from "../../../wire/feedback/feedback-statistics.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { sendPieces } from "../../paced-answer.ts";
import { type ReadBudget, readerBytes } from "../../memory-budget/read-budget.ts";
import { beginReading } from "../../memory-budget/stored-reads.ts";
import { abandonedSignal } from "../../request-scope.ts";

/** Number of characters after which a piece of a file is sent. A single record may have a megabyte. */
const pieceLength = 1 << 16;

export function feedbackExportRoutes(
  app: FastifyInstance,
  { feedback, settings }: HttpDependencies,
  reads: ReadBudget,
): void {
  const { queryLimits } = feedback;
  const on = endpoints(app, { tag: "feedback", scheme: "basic" });
  on(
    "POST /feedback/export",
    {
      summary: "Export feedback as a file",
      body: feedbackExportForm(queryLimits),
      answer: "The records in the order in which they were stored, streamed as they are read.",
      lines: { type: "string" },
      csv: { type: "string" },
    },
    async ({ body, caller, reply }) => {
      const signal = abandonedSignal(reply);
      await beginReading(reply, reads);
      const file = exportFile(body);
      const selection = exportedSelection(body, queryLimits);
      const text = textOf(file, () => feedback.pages(selection, caller, { signal }), caller.entity);
      // Produces the first piece before the answer begins, because an error in the first piece must still determine the
      // status.
      const first = await text.next();
      const name = `${body.project_id.replaceAll(/[^\w.-]/g, "-")}-feedback.${file.extension}`;
      reply.type(file.mediaType).header("content-disposition", `attachment; filename="${name}"`);
      return sendPieces(reply, startingWith(first, text), settings);
    },
  );
  on(
    "POST /feedback/stats",
    {
      summary: "Compute statistics over feedback",
      description:
        "For each feedback type, counts the records; for each path in their payloads, counts the values by JSON type. Numbers have a mean, percentiles and a histogram. If there are more records than one request can read, the statistics of payloads are computed from a sample; `sample` describes it.",
      body: feedbackStatisticsForm(queryLimits),
      answer: "The statistics.",
      json: feedbackStatisticsAnswer.schema,
    },
    async ({ body, caller, reply }) => {
      const signal = abandonedSignal(reply);
      const share = await beginReading(reply, reads);
      // Holds enough bytes for a page of records and for the data that the statistics collect.
      await share.hold(3 * readerBytes);
      const selection = { projectId: body.project_id, condition: conditionOf(body.query, queryLimits) };
      return feedbackStatisticsAnswer.body(await feedback.statistics(selection, caller, { signal }));
    },
  );
}

/** Yields the text of a file in at least one piece for each page of records. A piece may be empty. */
async function* textOf(
  { header, line }: ExportFile,
  pages: () => AsyncIterable<readonly FeedbackRecord[]>,
  tenant: string,
): AsyncGenerator<string, void> {
  let piece = header;
  for await (const records of pages()) {
    for (const record of records) {
      piece += line(record);
      if (piece.length < pieceLength) continue;
      yield piece;
      piece = "";
      await loopTurns.next(tenant);
    }
    yield piece;
    piece = "";
  }
}

async function* startingWith<Piece>(
  first: IteratorResult<Piece, void>,
  rest: AsyncIterable<Piece>,
): AsyncGenerator<Piece, void> {
  if (first.done !== true) yield first.value;
  yield* rest;
}
