// Stored trajectories as rows, one each: the position, and everything that was sent of it. Pure; a row's id is its
// position and a cursor.
import { Type } from "typebox";
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";
import type { Trajectory, TrajectoryGroup } from "../../../base/domain/trajectory.ts";
import { orNull } from "../nullable.ts";
import { pageSchema } from "../page.ts";
import { trajectoryBody } from "../trajectory.ts";

/** A log, or a training job, that trajectories were sent with. */
export interface RowSource {
  readonly kind: "log" | "job";
  readonly id: string;
  readonly split: string;
  /** Null for a job that has not started. */
  readonly step: number | null;
  /** ISO 8601. */
  readonly recordedAt: string;
}

/** Position of a trajectory. */
export interface RowPosition {
  readonly sourceId: string;
  /** Number of parts of stored lines before its group's. */
  readonly part: number;
  readonly group: number;
  readonly index: number;
}

export interface RowFilter {
  readonly rewardMin: number | null;
  readonly rewardMax: number | null;
  readonly metadata: readonly { readonly key: string; readonly value: string }[];
}

/** Fields of a row besides those sent with the trajectory. */
const positionFields = {
  id: Type.String({ description: "Cursor of the row; pass it as `after` to continue after it." }),
  source: Type.Enum(["log", "job"]),
  source_id: Type.String({ format: "uuid", description: "Id of the log, or of the training job." }),
  split: Type.String(),
  step: orNull(Type.Integer({ minimum: 0 }), { description: "Null for a job that has not started." }),
  recorded_at: Type.String({ format: "date-time" }),
  group_index: Type.Integer({ minimum: 0 }),
  index: Type.Integer({ minimum: 0, description: "Index of the trajectory in its group." }),
  group_metadata: Type.Object(
    {},
    { additionalProperties: true, description: "Empty if it is larger than 1 MiB." },
  ),
  group_metrics: Type.Object(
    {},
    { additionalProperties: true, description: "Empty if it is larger than 1 MiB." },
  ),
  reward: Type.Number(),
  left_out_bytes: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        "Size of the row in bytes, only if the row does not fit in a page. Its long fields are then empty; the export contains the whole row.",
    }),
  ),
};

export const rowSchema = Type.Object(positionFields, {
  title: "StoredTrajectory",
  additionalProperties: true,
  description: "A trajectory with every field that was sent.",
});
export const rowPageSchema = pageSchema(rowSchema);

/** A trajectory with its position. */
export type TrajectoryRow = JsonObject & { readonly id: string };

/** Values of a group that its rows repeat; null if larger than 1 MiB. */
export interface GroupHead {
  readonly metadata: TrajectoryGroup["metadata"] | null;
  readonly metrics: TrajectoryGroup["metrics"] | null;
}

/** Returns a trajectory as a row, with its position and its group's head. */
export function toRow(
  trajectory: Trajectory,
  {
    source,
    place,
    head,
  }: { readonly source: RowSource; readonly place: RowPosition; readonly head: GroupHead },
): TrajectoryRow {
  return {
    // First, so that clients' extra fields never override a row's fields.
    ...trajectoryBody(trajectory),
    id: rowId(place),
    source: source.kind,
    source_id: source.id,
    split: source.split,
    step: source.step,
    recorded_at: source.recordedAt,
    group_index: place.group,
    index: place.index,
    group_metadata: head.metadata ?? {},
    group_metrics: head.metrics ?? {},
  };
}

/**
 * Returns the start of a group's line, before its members, as an unclosed object. The members follow as stored, that
 * is, as they were sent, except for clients' own fields, which are in `extra`.
 */
export function groupLineStart(source: RowSource, groupIndex: number, trajectoryCount: number): string {
  const place = {
    source: source.kind,
    source_id: source.id,
    split: source.split,
    step: source.step,
    recorded_at: source.recordedAt,
    group_index: groupIndex,
    trajectory_count: trajectoryCount,
  };
  return JSON.stringify(place).slice(0, -1);
}

/** Fields of unlimited length, empty. */
const nothing = {
  messages_and_choices: [],
  tools: null,
  additional_histories: [],
  metrics: {},
  metadata: {},
  logs: [],
  group_metadata: {},
  group_metrics: {},
} as const;

/** Returns the row without its long fields, and with its size in bytes. */
export function withoutContent(row: TrajectoryRow, byteCount: number): TrajectoryRow {
  const versions = ["initial_policy_version", "final_policy_version", "start_time"];
  const kept = [...Object.keys(positionFields), ...versions].filter((name) => name in row);
  const short = Object.fromEntries(kept.map((name) => [name, row[name]]));
  return { ...short, ...nothing, id: row.id, left_out_bytes: byteCount };
}

/** Returns a position as a cursor. */
export function rowId({ sourceId, part, group, index }: RowPosition): string {
  return `${sourceId}.${part}.${group}.${index}`;
}

/** Parses a cursor; null if it is invalid. */
export function parseRowPosition(id: string): RowPosition | null {
  const match = /^([0-9a-f-]{36})\.(\d{1,12})\.(\d{1,12})\.(\d{1,12})$/.exec(id);
  if (match === null) return null;
  const [, sourceId, part, group, index] = match;
  return { sourceId, part: Number(part), group: Number(group), index: Number(index) };
}

/** True if the trajectory matches the filter. */
export function isWanted(trajectory: Trajectory, head: GroupHead, filter: RowFilter): boolean {
  const { reward } = trajectory;
  if (reward < (filter.rewardMin ?? reward) || reward > (filter.rewardMax ?? reward)) return false;
  return filter.metadata.every(({ key, value }) =>
    [trajectory.metadata, head.metadata ?? {}].some(
      (metadata) => Object.hasOwn(metadata, key) && spelled(metadata[key]).includes(value),
    ),
  );
}

/** Returns the spellings of a value in a filter: JSON, and also a text without quotes. */
function spelled(value: Json): readonly string[] {
  return typeof value === "string" ? [value, JSON.stringify(value)] : [JSON.stringify(value)];
}
