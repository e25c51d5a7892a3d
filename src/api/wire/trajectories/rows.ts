// Stored trajectories as rows, one for each: where it was stored, and everything that was sent of it. Pure; a row's place
// is its id, and where the next page begins.
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
  /** Null for a job that has not begun. */
  readonly step: number | null;
  /** ISO 8601. */
  readonly recordedAt: string;
}

/** Where a trajectory lies. */
export interface RowPlace {
  readonly sourceId: string;
  /** How many parts of stored lines come before its group's. */
  readonly part: number;
  readonly group: number;
  readonly index: number;
}

export interface RowFilter {
  readonly rewardMin: number | null;
  readonly rewardMax: number | null;
  readonly metadata: readonly { readonly key: string; readonly value: string }[];
}

/** Everything of a row beside what was sent of the trajectory. */
const placeFields = {
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

export const rowSchema = Type.Object(placeFields, {
  title: "StoredTrajectory",
  additionalProperties: true,
  description: "A trajectory with every field that was sent.",
});
export const rowPageSchema = pageSchema(rowSchema);

/** A trajectory with where it lies. */
export type TrajectoryRow = JsonObject & { readonly id: string };

/** Of a group, what its rows repeat; null where that has more than 1 MiB. */
export interface GroupHead {
  readonly metadata: TrajectoryGroup["metadata"] | null;
  readonly metrics: TrajectoryGroup["metrics"] | null;
}

/** A trajectory with where it lies, and what its group says of all. */
export function rowOf(
  trajectory: Trajectory,
  { source, place, head }: { readonly source: RowSource; readonly place: RowPlace; readonly head: GroupHead },
): TrajectoryRow {
  return {
    // Before the rest: what clients call their own fields takes no place of a row's.
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
 * What a line says of a group before its members, an object that is left open: those follow as they are stored, since they
 * are spelled as they were sent, but for what a client called by names of its own, which is in `extra`.
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

/** What a row has of any length, empty. */
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

/** The row with nothing in it that can be long, and its size in bytes. */
export function withoutContent(row: TrajectoryRow, byteCount: number): TrajectoryRow {
  const versions = ["initial_policy_version", "final_policy_version", "start_time"];
  const kept = [...Object.keys(placeFields), ...versions].filter((name) => name in row);
  const short = Object.fromEntries(kept.map((name) => [name, row[name]]));
  return { ...short, ...nothing, id: row.id, left_out_bytes: byteCount };
}

/** A place as a cursor. */
export function rowId({ sourceId, part, group, index }: RowPlace): string {
  return `${sourceId}.${part}.${group}.${index}`;
}

/** The place that a cursor names; null when it is none. */
export function rowPlace(id: string): RowPlace | null {
  const match = /^([0-9a-f-]{36})\.(\d{1,12})\.(\d{1,12})\.(\d{1,12})$/.exec(id);
  if (match === null) return null;
  const [, sourceId, part, group, index] = match;
  return { sourceId, part: Number(part), group: Number(group), index: Number(index) };
}

/** Whether the filter lets the trajectory through. */
export function isWanted(trajectory: Trajectory, head: GroupHead, filter: RowFilter): boolean {
  const { reward } = trajectory;
  if (reward < (filter.rewardMin ?? reward) || reward > (filter.rewardMax ?? reward)) return false;
  return filter.metadata.every(({ key, value }) =>
    [trajectory.metadata, head.metadata ?? {}].some(
      (metadata) => Object.hasOwn(metadata, key) && spelled(metadata[key]).includes(value),
    ),
  );
}

/** How a value may be written in a filter: as JSON, and a text without its quotes too. */
function spelled(value: Json): readonly string[] {
  return typeof value === "string" ? [value, JSON.stringify(value)] : [JSON.stringify(value)];
}
