// API format of tables, as Weave clients write and read them.
import { Type } from "typebox";
import type { IndexedRow, TableRow } from "../../../base/domain/traces/traced-table.ts";
import { isExactList, isExactObject, type ExactJson } from "../../../base/domain/text/exact-json.ts";
import { canonicalText, tableDigest, textDigest } from "../../../judge/weave/digests.ts";
import { digestLength, packRows } from "../../../judge/weave/packed-rows.ts";
import type { TableInput } from "../../../judge/weave/table-service.ts";
import { report } from "../../../base/validation/findings.ts";
import { parseExactBody, parseJsonBody } from "../../../base/validation/json-body.ts";
import { readForm, type BodyForm, type Checked } from "../body.ts";
import type { BodyLimits } from "../body-limits.ts";
import { nullable } from "../nullable.ts";
import { digestField, projectIdField, userField } from "./objects.ts";
import { anyObject } from "../fields/any-object.ts";

const tableCreateSchema = Type.Object(
  {
    table: Type.Object(
      {
        project_id: projectIdField,
        rows: Type.Array(anyObject, {
          description: "Rows of the table, in order. The body may have at most 32 MiB.",
        }),
        expected_digest: nullable(digestField, {
          description:
            "Digest that the client computed. The answer is 409 if the server computes a different one.",
        }),
        wb_user_id: userField,
      },
      { title: "WeaveTableDraft", description: "The table to publish." },
    ),
  },
  { title: "WeaveTableCreateReq" },
);
export const tableCreateForm: BodyForm<typeof tableCreateSchema> = { schema: tableCreateSchema };
export const tableCreateAnswerSchema = Type.Object({
  digest: Type.String({ description: "Digest of the table." }),
  row_digests: Type.Array(Type.String(), { description: "Digests of the rows, in order." }),
});

const tableOfDigestsSchema = Type.Object(
  {
    project_id: projectIdField,
    row_digests: Type.Array(Type.String(), {
      description: "Digests of the rows, in order. Each row must be in another table of the project.",
    }),
    expected_digest: nullable(digestField, {
      description:
        "Digest that the client computed. The answer is 409 if the server computes a different one.",
    }),
  },
  { title: "WeaveTableOfDigestsReq" },
);
export const tableOfDigestsForm: BodyForm<typeof tableOfDigestsSchema> = {
  schema: tableOfDigestsSchema,
  more: ({ row_digests: digests }, findings) => {
    if (!Array.isArray(digests)) return;
    for (const [index, digest] of digests.entries()) {
      if (typeof digest !== "string" || rowDigestPattern.test(digest)) continue;
      const message = `Value error, a row's digest has ${digestLength} letters and digits`;
      report(findings, "value_error", message, "row_digests", String(index));
    }
  },
};
const rowDigestPattern = new RegExp(`^[A-Za-z0-9]{${digestLength}}$`);

const tableQuerySchema = Type.Object(
  {
    project_id: projectIdField,
    digest: digestField,
    filter: nullable(
      Type.Object(
        {
          row_digests: nullable(Type.Array(digestField, { maxItems: 1000 }), {
            description: "Only rows with these digests.",
          }),
        },
        { title: "WeaveRowFilter" },
      ),
      { description: "Conditions on the rows to return; all by default." },
    ),
    limit: nullable(Type.Integer({ minimum: 0, maximum: 10_000 }), {
      default: 1000,
      description:
        "Maximum number of rows. The answer has fewer if they would exceed 4 MiB, but at least one.",
    }),
    offset: nullable(Type.Integer({ minimum: 0 }), { default: 0, description: "Number of rows to skip." }),
  },
  { title: "WeaveTableQueryReq" },
);
export const tableQueryForm: BodyForm<typeof tableQuerySchema> = { schema: tableQuerySchema };
export const tableQueryAnswerSchema = Type.Object({
  rows: Type.Array(
    Type.Object(
      {
        digest: Type.String(),
        val: Type.Unknown({ description: "Content of the row." }),
        original_index: Type.Integer({ description: "Index of the row in the table, from 0." }),
      },
      { title: "WeaveRow" },
    ),
  ),
});

const tableStatsSchema = Type.Object(
  { project_id: projectIdField, digest: digestField },
  { title: "WeaveTableStatsReq" },
);
export const tableStatsForm: BodyForm<typeof tableStatsSchema> = { schema: tableStatsSchema };
export const countAnswerSchema = Type.Object({ count: Type.Integer({ minimum: 0 }) });

/**
 * Reads a request that publishes a table with its rows.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function readTable(bytes: Buffer, limits: BodyLimits): Checked<TableInput> {
  const { value: body, exact } = parseExactBody(bytes, limits.trajectoryJson);
  const {
    value: { table },
    ignored,
  } = readForm(tableCreateForm, body);
  const rows = rowsIn(exact).map((row): TableRow => {
    const value = canonicalText(row);
    return { digest: textDigest(value), value };
  });
  const { digests, lines } = packRows(rows);
  return { value: tableOf(table, digests, lines), ignored };
}

/**
 * Reads a request that publishes a table whose rows are given by their digests.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function readTableOfDigests(bytes: Buffer, limits: BodyLimits): Checked<TableInput> {
  const { value, ignored } = readForm(tableOfDigestsForm, parseJsonBody(bytes, limits.trajectoryJson));
  return { value: tableOf(value, value.row_digests.join(""), null), ignored };
}

function tableOf(
  table: { readonly project_id: string; readonly expected_digest?: string | null },
  rowDigests: string,
  lines: string | null,
): TableInput {
  return {
    projectId: table.project_id,
    digest: tableDigest(rowDigests),
    expectedDigest: table.expected_digest ?? null,
    lines,
    rowDigests,
  };
}

/** Returns the table's rows in a checked body, with numbers as the client wrote them. */
function rowsIn(body: ExactJson | undefined): readonly ExactJson[] {
  const table = body !== undefined && isExactObject(body) ? body["table"] : undefined;
  const rows = table !== undefined && isExactObject(table) ? table["rows"] : undefined;
  return rows !== undefined && isExactList(rows) ? rows : [];
}

/** Returns a table's row as JSON, with its stored content unchanged. */
export function rowText({ digest, value, index }: IndexedRow): string {
  return `{"digest":${JSON.stringify(digest)},"original_index":${index},"val":${value}}`;
}
