// Stored trajectories as rows. Each trajectory has one row with its position and all fields that the client sent. The
// row's id contains the position and serves as a cursor.
import { Type } from "typebox";
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";
import { containWords } from "../../../base/domain/text/searched-words.ts";
import type { HistoryItem, Trajectory, TrajectoryGroup } from "../../../base/domain/trajectory.ts";
import { orNull } from "../nullable.ts";
import { pageSchema } from "../page.ts";
import { trajectoryBody } from "../trajectory.ts";

/** The log or training job that trajectories were sent in. */
export interface RowSource {
  readonly kind: "log" | "job";
  readonly id: string;
  readonly split: string;
  /** Step of the model's version; null for a job that has not started. */
  readonly step: number | null;
  /** Time of storing, in ISO 8601. */
  readonly recordedAt: string;
}

/** Position of a stored trajectory. */
export interface RowPosition {
  readonly sourceId: string;
  /** Number of stored lines before the first line of the trajectory's group. A group may take several lines. */
  readonly part: number;
  readonly group: number;
  readonly index: number;
}

export interface RowFilter {
  readonly rewardMin: number | null;
  readonly rewardMax: number | null;
  readonly metadata: readonly { readonly key: string; readonly value: string }[];
  /** Words in lower case, all of which the messages must contain. */
  readonly words: readonly string[];
}

/** Fields of a row in addition to those that the client sent with the trajectory. */
const positionFields = {
  id: Type.String({ description: "Cursor of the trajectory; pass it as `after` to continue after it." }),
  source: Type.Enum(["log", "job"]),
  source_id: Type.String({
    format: "uuid",
    description: "Id of the log or training job that contained the trajectory.",
  }),
  split: Type.String(),
  step: orNull(Type.Integer({ minimum: 0 }), {
    description:
      "Version that the log belongs to, or that the job starts from; null for a job that has not started.",
  }),
  recorded_at: Type.String({
    format: "date-time",
    description: "Time at which the server stored the trajectory.",
  }),
  group_index: Type.Integer({
    minimum: 0,
    description: "Index of the trajectory's group in the log or job.",
  }),
  index: Type.Integer({ minimum: 0, description: "Index of the trajectory in its group." }),
  group_metadata: Type.Object(
    {},
    { additionalProperties: true, description: "Metadata of the group; empty if it is larger than 1 MiB." },
  ),
  group_metrics: Type.Object(
    {},
    { additionalProperties: true, description: "Metrics of the group; empty if they are larger than 1 MiB." },
  ),
  reward: Type.Number(),
  left_out_bytes: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        "Size in bytes of a trajectory that does not fit in a page; absent for other trajectories. The trajectory's long fields are empty here; export it to get them.",
    }),
  ),
};

export const rowSchema = Type.Object(positionFields, {
  title: "StoredTrajectory",
  additionalProperties: true,
  description: "A trajectory with every field that was sent.",
});
export const rowPageSchema = pageSchema(rowSchema);

/** A trajectory as a row. */
export type TrajectoryRow = JsonObject & { readonly id: string };

/** Values of a group that each of its rows repeats. A value is null if it is larger than 1 MiB. */
export interface GroupHead {
  readonly metadata: TrajectoryGroup["metadata"] | null;
  readonly metrics: TrajectoryGroup["metrics"] | null;
}

/** Returns the row of a trajectory, with its position and the head of its group. */
export function toRow(
  trajectory: Trajectory,
  {
    source,
    place,
    head,
  }: { readonly source: RowSource; readonly place: RowPosition; readonly head: GroupHead },
): TrajectoryRow {
  return {
    // Extra fields of a client must not override the row's own fields, so the trajectory's fields come first.
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
 * Returns the beginning of a group's line: an object with the group's position, without its closing brace. The caller
 * appends the group's stored members as text. Their form is that of the client, except that fields unknown to the API
 * are in `extra`.
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

/** Empty values for the fields of a row that may be arbitrarily long. */
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

/** Returns the row with its long fields emptied, and with the size of the whole row. */
export function withoutContent(row: TrajectoryRow, byteCount: number): TrajectoryRow {
  const versions = ["initial_policy_version", "final_policy_version", "start_time"];
  const kept = [...Object.keys(positionFields), ...versions].filter((name) => name in row);
  const short = Object.fromEntries(kept.map((name) => [name, row[name]]));
  return { ...short, ...nothing, id: row.id, left_out_bytes: byteCount };
}

/** Returns the row id for a position. It also serves as a cursor. */
export function rowId({ sourceId, part, group, index }: RowPosition): string {
  return `${sourceId}.${part}.${group}.${index}`;
}

/** Parses a row id; returns null if the text is not one. */
export function parseRowPosition(id: string): RowPosition | null {
  const match = /^([0-9a-f-]{36})\.(\d{1,12})\.(\d{1,12})\.(\d{1,12})$/.exec(id);
  if (match === null) return null;
  const [, sourceId, part, group, index] = match;
  return { sourceId, part: Number(part), group: Number(group), index: Number(index) };
}

/** True if a trajectory matches the filter on trajectories. */
export function isWanted(trajectory: Trajectory, head: GroupHead, filter: RowFilter): boolean {
  const { reward } = trajectory;
  if (reward < (filter.rewardMin ?? reward) || reward > (filter.rewardMax ?? reward)) return false;
  const { words } = filter;
  if (words.length > 0 && !containWords(messagesOf(trajectory), words)) return false;
  return filter.metadata.every(({ key, value }) =>
    [trajectory.metadata, head.metadata ?? {}].some(
      (metadata) => Object.hasOwn(metadata, key) && spelled(metadata[key]).includes(value),
    ),
  );
}

function messagesOf({ messagesAndChoices, additionalHistories }: Trajectory): readonly HistoryItem[] {
  return [messagesAndChoices, ...additionalHistories.map((history) => history.messagesAndChoices)].flat();
}

/** Returns the texts by which a filter may give a value: its JSON, and for a text also the text itself. */
function spelled(value: Json): readonly string[] {
  return typeof value === "string" ? [value, JSON.stringify(value)] : [JSON.stringify(value)];
}
