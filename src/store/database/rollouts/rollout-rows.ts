// Converts rollouts to rows and back. Whether an open rollout has expired depends on the time at which it is read.
import { hash } from "node:crypto";
import type { Selectable } from "kysely";
import {
  groupKeyOf,
  type NewRollout,
  type Rollout,
  type RolloutOutcome,
  type RolloutState,
} from "../../../base/domain/rollouts/rollout.ts";
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";

/** Rollouts; see rollouts/. */
export interface RolloutTable {
  readonly id: string;
  readonly sequence: number;
  readonly model_id: string;
  readonly entity: string;
  /** State of the rollout. If its time is up, the column still contains `open` until a job trains on the rollout. */
  readonly state: string;
  readonly group_key: string;
  readonly split: string;
  readonly step: number;
  readonly secret_hash: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly ended_at: string | null;
  /** JSON of the outcome; null unless the rollout is finished. */
  readonly outcome: string | null;
  /** JSON with all fields that have no column of their own. */
  readonly content: string;
  readonly call_count: number;
  readonly token_count: number;
  readonly last_step: number | null;
}

/** The rollouts that each job trains on. Rows of failed and cancelled jobs do not count. */
export interface JobRolloutTable {
  readonly job_id: string;
  readonly rollout_id: string;
}

interface Content extends Pick<NewRollout, "pinnedStep" | "group" | "keyId" | "owner"> {
  readonly task: Json;
  readonly metadata: JsonObject;
}

export function rowOf(rollout: NewRollout, sequence: number): RolloutTable {
  const { pinnedStep, group, task, metadata, keyId, owner } = rollout;
  const content: Content = { pinnedStep, group, task, metadata, keyId, owner };
  return {
    id: rollout.id,
    sequence,
    model_id: rollout.modelId,
    entity: rollout.entity,
    state: "open",
    group_key: groupKeyOf(rollout, (text) => hash("sha256", text)),
    split: rollout.split,
    step: rollout.step,
    secret_hash: rollout.secretHash,
    created_at: rollout.createdAt.toISOString(),
    expires_at: rollout.expiresAt.toISOString(),
    ended_at: null,
    outcome: null,
    content: JSON.stringify(content),
    call_count: 0,
    token_count: 0,
    last_step: null,
  };
}

export function rolloutOf(row: Selectable<RolloutTable>, jobId: string | null, now: Date): Rollout {
  const expiresAt = new Date(row.expires_at);
  const isOver = row.state === "open" && expiresAt <= now;
  // Safe casts: `rowOf` and the store wrote these texts.
  const state = isOver ? "expired" : (row.state as RolloutState);
  const content = JSON.parse(row.content) as Content;
  const ended = state === "expired" ? expiresAt : row.ended_at === null ? null : new Date(row.ended_at);
  return {
    id: row.id,
    modelId: row.model_id,
    entity: row.entity,
    step: row.step,
    split: row.split,
    ...content,
    secretHash: row.secret_hash,
    createdAt: new Date(row.created_at),
    expiresAt,
    state,
    endedAt: ended,
    outcome: row.outcome === null ? null : (JSON.parse(row.outcome) as RolloutOutcome),
    callCount: row.call_count,
    tokenCount: row.token_count,
    lastStep: row.last_step,
    jobId,
  };
}
