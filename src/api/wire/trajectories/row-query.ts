// Reads from a request's query which stored trajectories it selects.
import { Type, type Static } from "typebox";
import type { Fault } from "../../../base/domain/service-error.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { pageQueryFields } from "../page.ts";
import { readWords, textField } from "../fields/searched-text.ts";
import type { RowFilter } from "./rows.ts";

/** Query field `step`, which selects trajectories by the version of the model. */
export const stepField = Type.Integer({
  minimum: 0,
  description:
    "Only trajectories of this version: the version that the log belongs to, or that the training job starts from.",
});

/** Query fields that select trajectories by the time at which they were stored. */
export const timeFields = {
  recorded_from: Type.Optional(
    Type.String({ format: "date-time", description: "Only trajectories stored at this time or later." }),
  ),
  recorded_before: Type.Optional(
    Type.String({ format: "date-time", description: "Only trajectories stored before this time." }),
  ),
};

/** Query field `metadata`, which selects trajectories by their metadata. */
const metadataField = Type.Array(Type.String(), {
  maxItems: 16,
  description:
    "Metadata filters in the form `key=value`; a trajectory must match all of them. A filter matches if the metadata of the trajectory or its group has this value, written as text or as JSON.",
});

/** Filters on trajectories by their own content. */
export const trajectoryFields = {
  split: Type.Optional(
    Type.String({
      description: "Only trajectories of this split. Those of training jobs have the split `train`.",
    }),
  ),
  step: Type.Optional(stepField),
  ...timeFields,
  reward_min: Type.Optional(Type.Number({ description: "Only trajectories with at least this reward." })),
  reward_max: Type.Optional(Type.Number({ description: "Only trajectories with at most this reward." })),
  text: Type.Optional(textField("trajectories")),
  metadata: Type.Optional(metadataField),
};

const filterFields = {
  source: Type.Optional(
    Type.Enum(["logs", "jobs"], {
      default: "logs",
      description: "`logs`: logged trajectories. `jobs`: trajectories sent to training jobs.",
    }),
  ),
  log_id: Type.Optional(Type.String({ description: "Only trajectories of this log." })),
  job_id: Type.Optional(Type.String({ description: "Only trajectories of this training job." })),
  ...trajectoryFields,
};

export const rowPageQuerySchema = Type.Object({
  ...filterFields,
  after: pageQueryFields.after,
  limit: pageQueryFields.limit,
});

export const rowExportQuerySchema = Type.Object({
  ...filterFields,
  format: Type.Enum(["jsonl", "parquet", "groups"], {
    description:
      "`jsonl`: JSON lines, with one trajectory per line. `parquet`: an Apache Parquet file, with one trajectory per row. `groups`: JSON lines, with one group per line; the line has all fields of the group except its trajectories.",
  }),
});

type RowQuery = Omit<Static<typeof rowExportQuerySchema>, "format">;

/** Selection of rows, either from logs or from training jobs. */
export interface RowSelection {
  readonly source: "logs" | "jobs";
  /** Id of the only log or job from which to select; null to select from all logs and jobs. */
  readonly sourceId: string | null;
  readonly split: string | null;
  readonly step: number | null;
  readonly recordedFrom: Date | null;
  readonly recordedBefore: Date | null;
  readonly filter: RowFilter;
}

/**
 * Returns the selection of rows that a query describes.
 *
 * @throws ServiceError `invalid` for an invalid time, for metadata without `=`, for `job_id` with the source `logs`, or
 * for `log_id` with the source `jobs`
 */
export function rowSelection(query: RowQuery): RowSelection {
  const { log_id: logId, job_id: jobId } = query;
  const faults: Fault[] = [];
  const refuse = (field: string, message: string): void =>
    void faults.push({ location: ["query", field], message, type: "value_error" });
  const source = query.source ?? (jobId === undefined ? "logs" : "jobs");
  if (source === "logs" && jobId !== undefined) refuse("job_id", "job_id goes with source=jobs");
  if (source === "jobs" && logId !== undefined) refuse("log_id", "log_id goes with source=logs");
  const selection: RowSelection = {
    source,
    sourceId: (logId ?? jobId ?? null)?.toLowerCase() ?? null,
    split: query.split ?? null,
    step: query.step ?? null,
    recordedFrom: readTime(query, "recorded_from", faults),
    recordedBefore: readTime(query, "recorded_before", faults),
    filter: {
      rewardMin: query.reward_min ?? null,
      rewardMax: query.reward_max ?? null,
      metadata: readMetadata(query, faults),
      words: readWords(query, faults),
    },
  };
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
  return selection;
}

/** Returns the metadata filters of the query. Adds a fault for each without a key. */
export function readMetadata(
  { metadata = [] }: { readonly metadata?: readonly string[] },
  faults: Fault[],
): RowFilter["metadata"] {
  return metadata.map((pair) => {
    const split = pair.indexOf("=");
    const message = "metadata is a key and a value, such as scenario_id=7";
    if (split < 1) faults.push({ location: ["query", "metadata"], message, type: "value_error" });
    return { key: pair.slice(0, split), value: pair.slice(split + 1) };
  });
}

/** Returns the time in a field of the query; null if the field is absent. Adds a fault if the time is invalid. */
export function readTime<Field extends string>(
  query: { readonly [Name in Field]?: string },
  field: Field,
  faults: Fault[],
): Date | null {
  const text = query[field];
  if (text === undefined) return null;
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  const message = `${field} is not a valid time; write it as 2026-11-22T12:00:00Z`;
  faults.push({ location: ["query", field], message, type: "value_error" });
  return null;
}

/**
 * Returns which logs or jobs to export the groups of.
 *
 * @throws ServiceError `invalid` like {@link rowSelection}, and for filters on single trajectories
 */
export function groupSelection(query: RowQuery): RowSelection {
  const faults = (["reward_min", "reward_max", "metadata", "text"] as const)
    .filter((field) => query[field] !== undefined)
    .map((field) => {
      const message = `${field} chooses trajectories, and format=groups exports groups; leave it out, or take format=jsonl`;
      return { location: ["query", field], message, type: "value_error" };
    });
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
  return rowSelection(query);
}
