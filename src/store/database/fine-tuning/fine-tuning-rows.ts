// The table of fine-tuning jobs, and the conversion of its rows.
import type { Insertable, Selectable } from "kysely";
import type {
  FineTuningJob,
  FineTuningOrder,
  FineTuningState,
} from "../../../base/domain/fine-tuning/fine-tuning-job.ts";
import type { ReinforcementProgress } from "../../../base/domain/fine-tuning/reinforcement.ts";

export interface FineTuningTable {
  readonly id: string;
  readonly sequence: number;
  readonly entity: string;
  readonly project: string;
  readonly model_id: string;
  /** The order without its metadata, as JSON. */
  readonly content: string;
  /** One line of JSON for each pair of the order's metadata, between line feeds; null without metadata. */
  readonly metadata: string | null;
  readonly state: string;
  readonly training_job_id: string | null;
  readonly progress: string | null;
  readonly error_message: string | null;
  /** Server that runs the job; null if none does. */
  readonly owner: string | null;
  readonly created_at: string;
  readonly ended_at: string | null;
}

export interface FineTuningTables {
  readonly fine_tuning_jobs: FineTuningTable;
}

/** Returns the line that a query searches for to find a pair of metadata. */
export function metadataLine(key: string, value: string): string {
  return `\n${JSON.stringify([key, value])}\n`;
}

export function rowOf(job: FineTuningJob): Omit<Insertable<FineTuningTable>, "sequence"> {
  const { metadata, ...content } = job.order;
  return {
    id: job.id,
    entity: job.entity,
    project: job.project,
    model_id: job.modelId,
    content: JSON.stringify(content),
    metadata:
      metadata === null
        ? null
        : Object.entries(metadata)
            .map((pair) => metadataLine(...pair))
            .join(""),
    state: job.state,
    training_job_id: job.trainingJobId,
    progress: job.progress === null ? null : JSON.stringify(job.progress),
    error_message: job.errorMessage,
    owner: null,
    created_at: job.createdAt.toISOString(),
    ended_at: job.endedAt === null ? null : job.endedAt.toISOString(),
  };
}

export function jobOf(row: Selectable<FineTuningTable>): FineTuningJob {
  return {
    id: row.id,
    entity: row.entity,
    project: row.project,
    modelId: row.model_id,
    // Safe casts here and below: `rowOf` and `advance` wrote these values.
    order: { ...(JSON.parse(row.content) as FineTuningOrder), metadata: metadataIn(row.metadata) },
    state: row.state as FineTuningState,
    trainingJobId: row.training_job_id,
    progress: row.progress === null ? null : (JSON.parse(row.progress) as ReinforcementProgress),
    errorMessage: row.error_message,
    createdAt: new Date(row.created_at),
    endedAt: row.ended_at === null ? null : new Date(row.ended_at),
  };
}

function metadataIn(text: string | null): Readonly<Record<string, string>> | null {
  if (text === null) return null;
  const lines = text.split("\n").filter((line) => line !== "");
  return Object.fromEntries(lines.map((line) => JSON.parse(line) as [string, string]));
}
