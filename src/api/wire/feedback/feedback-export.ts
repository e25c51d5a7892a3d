// API format of a request to export feedback as a file: the selected records, their fields, and the file format.
import { Type, type Static } from "typebox";
import type { QueryLimits } from "../../../base/domain/feedback-query/query-limits.ts";
import type { Fault } from "../../../base/domain/service-error.ts";
import type { RecordSelection } from "../../../judge/feedback/reading/record-pages.ts";
import { newFindings } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";
import { nullable } from "../nullable.ts";
import { csvWriter } from "./csv.ts";
import { conditionOf, expressionSchema, readMember, unknownFields } from "./feedback-queries.ts";
import { countColumn, rowBody } from "./query/result-rows.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";

export const feedbackExportSchema = Type.Object(
  {
    project_id: Type.String({ description: "Project, as `<entity>/<project>`." }),
    query: expressionSchema("Condition on the records, as in `/feedback/query`. All records by default."),
    fields: nullable(Type.Array(Type.String(), { minItems: 1, maxItems: 100 }), {
      description: "Fields to export of each record, as in `/feedback/query`. All fields by default.",
      examples: [["id", "created_at", "payload.stars"]],
    }),
    format: nullable(Type.Enum(["jsonl", "csv"]), {
      default: "jsonl",
      description:
        "Format of the file: `jsonl` has one JSON object per line, `csv` (RFC 4180) has one column per field. In CSV, objects and lists are written as JSON, and a `'` precedes strings that a spreadsheet would read as formulas.",
    }),
    after: nullable(Type.String(), {
      description:
        "Id of the last record that you have. The export contains only records stored after it. Use this to continue an interrupted export, or to get the records stored since the last export.",
    }),
    header: nullable(Type.Boolean(), {
      description: "For CSV: true to begin the file with the column names.",
      "x-default": "true without `after`",
    }),
  },
  { title: "FeedbackExportReq" },
);

type ExportBody = Static<typeof feedbackExportSchema>;

/** Returns the form of an export request. `limits` are the limits on the request's query. */
export function feedbackExportForm(limits: QueryLimits): BodyForm<typeof feedbackExportSchema> {
  return {
    schema: feedbackExportSchema,
    more: ({ query }, findings) => void readMember(query, findings, limits),
    moreUnserved: ({ query, fields }) => [
      ...readMember(query, newFindings("body"), limits).refusals,
      ...unknownFields(fields),
      ...countedFields(fields),
    ],
  };
}

function countedFields(fields: unknown): readonly Fault[] {
  if (!Array.isArray(fields) || fields.length > 1 || fields[0] !== countColumn) return [];
  const message = `${countColumn} is not a field of a record; request it from /feedback/query.`;
  return [{ location: ["body", "fields"], message, type: "query" }];
}

/** Returns the selection of records that a checked body of an export request describes. */
export function exportedSelection(body: ExportBody, limits: QueryLimits): RecordSelection {
  // A client that has no records yet sends an empty cursor, which means the beginning.
  const after = body.after === undefined || body.after === "" ? null : body.after;
  return { projectId: body.project_id, condition: conditionOf(body.query, limits), after };
}

/** Format of the exported file. */
export interface ExportFile {
  readonly mediaType: string;
  readonly extension: string;
  /** Text of the file before the first record; may be empty. */
  readonly header: string;
  readonly line: (record: FeedbackRecord) => string;
}

export function exportFile({ format, fields, after, header }: ExportBody): ExportFile {
  const names = fields ?? null;
  if (format !== "csv") {
    const line = (record: FeedbackRecord): string => `${JSON.stringify(rowBody(record, names))}\n`;
    return { mediaType: "application/jsonl", extension: "jsonl", header: "", line };
  }
  const csv = csvWriter(names);
  const hasHeader = header ?? (after === undefined || after === null || after === "");
  return {
    ...csv,
    mediaType: `text/csv; charset=utf-8; header=${hasHeader ? "present" : "absent"}`,
    extension: "csv",
    header: hasHeader ? csv.header : "",
  };
}
