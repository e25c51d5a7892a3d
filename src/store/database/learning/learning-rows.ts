// Types of the tables of learning models and their cycles, and the conversion of their rows.
import type { Insertable, Selectable } from "kysely";
import {
  type CycleProgress,
  type CycleStage,
  isFinalStage,
  type LearningCycle,
} from "../../../base/domain/learning/learning-cycle.ts";
import type { Learning, LearningNotes } from "../../../base/domain/learning/learning-store.ts";

export interface LearningTables {
  readonly learning: LearningTable;
  readonly learning_cycles: LearningCycleTable;
  readonly learning_turns: LearningTurnTable;
}

export interface LearningTable {
  readonly model_id: string;
  /** JSON with the settings, and with the key that turned learning on. */
  readonly content: string;
  /** Server that runs the learning; null if none does. */
  readonly owner: string | null;
  /** Number of the last recorded chat that was searched for next messages. */
  readonly read_to: number;
  readonly notes: string;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface LearningCycleTable {
  readonly id: string;
  readonly sequence: number;
  readonly model_id: string;
  readonly job_id: string;
  readonly stage: string;
  readonly content: string;
  readonly progress: string;
  readonly created_at: string;
  /** Time when the cycle ended; null while it runs. A model has at most one running cycle. */
  readonly ended_at: string | null;
}

export interface LearningTurnTable {
  readonly model_id: string;
  readonly hash: string;
  readonly call_id: string;
  /** Number of the recorded chat with the turn. */
  readonly number: number;
}

export const noNotes: LearningNotes = { signalCount: null, heldOutCount: null, fault: null };

export function learningOf(row: Selectable<LearningTable>): Learning & LearningNotes {
  return {
    modelId: row.model_id,
    // Safe casts here and below: this folder wrote the JSON.
    ...(JSON.parse(row.content) as Pick<Learning, "order" | "keyId" | "keyOwner">),
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
    ...(JSON.parse(row.notes) as LearningNotes),
  };
}

export function cycleRowOf(cycle: LearningCycle, sequence: number): Insertable<LearningCycleTable> {
  const { order, learned, heldOut } = cycle;
  return {
    id: cycle.id,
    sequence,
    model_id: cycle.modelId,
    job_id: cycle.jobId,
    content: JSON.stringify({ order, learned, heldOut }),
    created_at: cycle.createdAt.toISOString(),
    ...progressColumns(cycle),
  };
}

export function progressColumns(progress: CycleProgress) {
  const { stage, baseStep, candidateStep, evaluation, reason, waitingFor } = progress;
  const { evaluatingSince, promotedAt, ratedBefore, ratedAfter, endedAt } = progress;
  const times = { evaluatingSince, promotedAt };
  const values = { baseStep, candidateStep, evaluation, reason, waitingFor, ratedBefore, ratedAfter };
  return {
    stage,
    progress: JSON.stringify({ ...values, ...times }),
    ended_at: isFinalStage(stage) ? (endedAt?.toISOString() ?? null) : null,
  };
}

type StoredProgress = Omit<CycleProgress, "stage" | "endedAt" | "evaluatingSince" | "promotedAt"> & {
  readonly evaluatingSince: string | null;
  readonly promotedAt: string | null;
};

export function cycleOf(row: Selectable<LearningCycleTable>): LearningCycle {
  const progress = JSON.parse(row.progress) as StoredProgress;
  return {
    id: row.id,
    modelId: row.model_id,
    jobId: row.job_id,
    ...(JSON.parse(row.content) as Pick<LearningCycle, "order" | "learned" | "heldOut">),
    createdAt: new Date(row.created_at),
    ...progress,
    stage: row.stage as CycleStage,
    evaluatingSince: timeOf(progress.evaluatingSince),
    promotedAt: timeOf(progress.promotedAt),
    endedAt: timeOf(row.ended_at),
  };
}

function timeOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
