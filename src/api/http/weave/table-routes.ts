// Publishing tables and reading them, and what references lead to.
import type { FastifyInstance } from "fastify";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { digestLength, digestsIn } from "../../../judge/traces/packed-rows.ts";
import type { TableInput } from "../../../judge/traces/table-service.ts";
import { locate } from "../../wire/places.ts";
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
import { readApart, type BodyReader } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { nameIgnored } from "../input/ignored-fields.ts";
import { readBody } from "../input/read-body.ts";
import { sendPieces } from "../patient-answer.ts";
import { readsPage } from "../reading/stored-reads.ts";
import { jsonText } from "./object-routes.ts";
import { documented, inBody } from "./weave-route.ts";

export function tableRoutes(app: FastifyInstance, dependencies: HttpDependencies, bodies: BodyReader): void {
  const { traces, settings } = dependencies;
  const { tables } = traces;
  app.post(
    "/table/create",
    {
      ...readApart,
      bodyLimit: settings.feedbackBodyBytes,
      schema: documented({
        summary: "Publish a table",
        description: "It is on disk when it is answered. The same table again adds nothing.",
        body: tableCreateForm.schema,
        response: answered("What names it and its rows.", { json: tableCreateAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const { value: table, ignored } = await bodies.read("published table", request);
      nameIgnored(reply, ignored);
      await tables.publish(table, request.caller).catch(inBody("table"));
      reply.type("application/json; charset=utf-8");
      return sendPieces(reply, publishedText(table), settings);
    },
  );
  app.post(
    "/table/create_from_digests",
    {
      ...readApart,
      bodyLimit: settings.feedbackBodyBytes,
      schema: documented({
        summary: "Publish a table of rows that other tables have",
        description:
          "Clients send a large table as parts, each a table of its own, and then all of its rows by their digests.",
        body: tableOfDigestsForm.schema,
        response: answered("What names it.", { json: digestAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const { value: table, ignored } = await bodies.read("table of digests", request);
      nameIgnored(reply, ignored);
      await tables
        .publish(table, request.caller)
        .catch((error: unknown) => inBody()(locate(error, { not_found: ["row_digests"] })));
      return { digest: table.digest };
    },
  );
  app.post(
    "/table/query",
    {
      ...readsPage,
      schema: documented({
        summary: "Read rows of a table",
        body: tableQueryForm.schema,
        response: answered("The rows, in their order.", { json: tableQueryAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const body = readBody(tableQueryForm, request, reply);
      const table = {
        projectId: body.project_id,
        digest: body.digest,
        rowDigests: body.filter?.row_digests ?? null,
      };
      const slice = { limit: body.limit ?? 1000, offset: body.offset ?? 0 };
      const rows = await tables.rows(table, slice, request.caller).catch(inBody());
      return jsonText(reply, `{"rows":[${rows.map(rowText).join(",")}]}`);
    },
  );
  app.post(
    "/table/query_stats",
    {
      schema: documented({
        summary: "Count the rows of a table",
        body: tableStatsForm.schema,
        response: answered("How many there are.", { json: countAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const { project_id: projectId, digest } = readBody(tableStatsForm, request, reply);
      return { count: await tables.count(projectId, digest, request.caller).catch(inBody()) };
    },
  );
  app.post(
    "/refs/read_batch",
    {
      ...readsPage,
      schema: documented({
        summary: "Read what references lead to",
        description:
          "Objects, ops, parts of them (`/attr/…`, `/key/…`, `/index/…`), and rows of tables that they name (`/id/…`); null for a part that is not there.",
        body: refsReadForm.schema,
        response: answered("The values, in order.", { json: refsReadAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const { refs } = readBody(refsReadForm, request, reply);
      const values: string[] = [];
      let length = 0;
      for (const [index, reference] of refs.entries()) {
        const place = ["body", "refs", String(index)];
        const { text, readLength } = await traces.read(reference, request.caller).catch((error: unknown) => {
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

/** The answer to a table, some of its rows at a time. */
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

/** Read for one answer, in characters. */
const readLengthMax = 16 << 20;

function tooMuch(count: number): ServiceError {
  const message = `The first ${count} references lead into more than ${readLengthMax} characters of JSON; read fewer at once.`;
  return new ServiceError({
    code: "too_large",
    faults: [{ location: ["body", "refs"], message, type: "too_long" }],
  });
}
