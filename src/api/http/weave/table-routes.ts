// Routes that publish and read tables of Weave clients, and resolve references to rows and objects.
import type { FastifyInstance } from "fastify";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { digestLength, digestsIn } from "../../../judge/weave/packed-rows.ts";
import type { TableInput } from "../../../judge/weave/table-service.ts";
import { locate } from "../../wire/field-paths.ts";
import { digestAnswerSchema, refsReadAnswerSchema, refsReadForm } from "../../wire/weave/objects.ts";
import {
  countAnswerSchema,
  rowText,
  tableCreateAnswerSchema,
  tableCreateForm,
  tableOfDigestsForm,
  tableQueryAnswerSchema,
  tableQueryForm,
  tableStatsForm,
} from "../../wire/weave/tables.ts";
import type { BodyReader } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { sendPieces } from "../paced-answer.ts";
import { readsPage } from "../memory-budget/stored-reads.ts";
import { jsonText } from "./object-routes.ts";
import { weaveEndpoints } from "./weave-endpoints.ts";

export function tableRoutes(
  app: FastifyInstance,
  { traces, settings }: HttpDependencies,
  bodies: BodyReader,
): void {
  const { tables } = traces;
  const on = weaveEndpoints(app, { bodyLimit: settings.feedbackBodyBytes });
  const onPage = weaveEndpoints(app, readsPage);
  on(
    "POST /table/create",
    {
      summary: "Publish a table",
      description:
        "The table is on disk before the server answers. Publishing the same table again has no effect.",
      body: bodies.form("published table", tableCreateForm),
      answer: "The digests of the table and its rows.",
      json: tableCreateAnswerSchema,
      fieldPaths: {
        project_id: ["body", "table", "project_id"],
        expected_digest: ["body", "table", "expected_digest"],
      },
    },
    async ({ body: { value: table }, caller, reply }) => {
      await tables.publish(table, caller);
      reply.type("application/json; charset=utf-8");
      return sendPieces(reply, publishedText(table), settings);
    },
  );
  on(
    "POST /table/create_from_digests",
    {
      summary: "Publish a table from rows of other tables",
      description:
        "For large tables: clients first publish parts of the table as separate tables, then the whole table by the digests of its rows.",
      body: bodies.form("table of digests", tableOfDigestsForm),
      answer: "The table's digest.",
      json: digestAnswerSchema,
      fieldPaths: { not_found: ["body", "row_digests"] },
    },
    async ({ body: { value: table }, caller }) => {
      await tables.publish(table, caller);
      return { digest: table.digest };
    },
  );
  onPage(
    "POST /table/query",
    {
      summary: "Read rows of a table",
      body: tableQueryForm,
      answer: "The rows, in order.",
      json: tableQueryAnswerSchema,
    },
    async ({ body, caller, reply }) => {
      const table = {
        projectId: body.project_id,
        digest: body.digest,
        rowDigests: body.filter?.row_digests ?? null,
      };
      const slice = { limit: body.limit ?? 1000, offset: body.offset ?? 0 };
      const rows = await tables.rows(table, slice, caller);
      return jsonText(reply, `{"rows":[${rows.map(rowText).join(",")}]}`);
    },
  );
  weaveEndpoints(app)(
    "POST /table/query_stats",
    {
      summary: "Count the rows of a table",
      body: tableStatsForm,
      answer: "The number of rows.",
      json: countAnswerSchema,
    },
    async ({ body: { project_id: projectId, digest }, caller }) => ({
      count: await tables.count(projectId, digest, caller),
    }),
  );
  onPage(
    "POST /refs/read_batch",
    {
      summary: "Read the values that references point to",
      description:
        "Reads objects and ops, parts of objects and ops (`/attr/…`, `/key/…`, `/index/…`), and rows of the tables to which they refer (`/id/…`).",
      body: refsReadForm,
      answer: "The values, in order.",
      json: refsReadAnswerSchema,
    },
    async ({ body: { refs }, caller, reply }) => {
      const values: string[] = [];
      let length = 0;
      for (const [index, reference] of refs.entries()) {
        const place = ["body", "refs", String(index)];
        const { text, readLength } = await traces.read(reference, caller).catch((error: unknown) => {
          throw locate(error, { not_found: place, invalid: place, project_id: place });
        });
        values.push(text ?? "null");
        length += readLength;
        if (length > readLengthMax) throw tooMuch(index + 1);
      }
      return jsonText(reply, `{"vals":[${values.join(",")}]}`);
    },
  );
}

/** Yields the answer to a published table in pieces of a thousand rows. */
function* publishedText({ digest, rowDigests }: TableInput): Generator<string, void> {
  yield `{"digest":${JSON.stringify(digest)},"row_digests":[`;
  const rowsPerPiece = 1000;
  const length = rowsPerPiece * digestLength;
  for (let start = 0; start < rowDigests.length; start += length) {
    const digests = [...digestsIn(rowDigests.slice(start, start + length))];
    yield `${start === 0 ? "" : ","}${digests.map((one) => JSON.stringify(one)).join(",")}`;
  }
  yield "]}";
}

/** Maximum number of characters read from the database for one answer. */
const readLengthMax = 16 << 20;

function tooMuch(count: number): ServiceError {
  const message = `The first ${count} references read more than ${readLengthMax} characters of JSON; read fewer at once.`;
  return new ServiceError({
    code: "too_large",
    faults: [{ location: ["body", "refs"], message, type: "too_long" }],
  });
}
