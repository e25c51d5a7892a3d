// API format of retention: limits, stored sizes and removals.
import { Type, type Static } from "typebox";
import {
  type KeptKind,
  keptKinds,
  type RemovedData,
  type RemovedOfDay,
  type StoredKind,
  storedKinds,
} from "../../../base/domain/retention/retention-store.ts";
import { flag } from "../../../base/domain/resources/fields.ts";
import { answerOf, creationRows, creation } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";

const count = Type.Integer({
  minimum: 0,
  description: "Number of logs, jobs, completions or revisions removed.",
});
const bytes = Type.Integer({
  minimum: 0,
  description:
    "Number of bytes removed. Data that remaining entries share is not removed and does not count.",
});
const kind = Type.Enum([...keptKinds], {
  description:
    "Kind of data: `trajectories` (logged trajectories), `jobs` (training data and events of jobs that have ended), `recordings` (recorded completions), or `revisions` (earlier revisions of feedback).",
});

const ruleSchema = Type.Object(
  {
    kind,
    days: orNull(Type.Number({ minimum: 0 }), {
      description: "Days for which data is kept; null for no limit.",
    }),
    entity_bytes: orNull(Type.Integer({ minimum: 0 }), {
      description:
        "Maximum number of bytes per entity, above which the oldest data is removed; null for no limit.",
    }),
    model_count: orNull(Type.Integer({ minimum: 0 }), {
      description:
        "Maximum number of entries per model, above which the oldest are removed; null for no limit.",
    }),
    stored_bytes: Type.Integer({
      minimum: 0,
      description: "Number of bytes of this kind of data that are stored now for the entities in the report.",
    }),
  },
  { title: "RetentionRule" },
);
const removedRows = {
  kind,
  entity: Type.String(),
  count: [count, ({ itemCount }: RemovedData) => itemCount],
  bytes: [bytes, ({ byteCount }: RemovedData) => byteCount],
} as const;
const removedOfDayAnswer = answerOf<RemovedOfDay>()("RemovedOfDay", {
  day: Type.String({ description: "`YYYY-MM-DD` in UTC." }),
  ...removedRows,
  last_at: Type.String({ description: "Time of the day's last removal." }),
});
export const removedAnswer = answerOf<RemovedData & { readonly kind: KeptKind }>()("Removed", removedRows);

const storedWords: Readonly<Record<StoredKind, string>> = {
  trajectories: "Bytes of logged trajectories.",
  jobs: "Bytes of jobs' training data, and of the events of jobs that have ended.",
  recordings: "Bytes of recorded completions; data that several completions share is counted once.",
  revisions: "Bytes of earlier revisions of feedback.",
  feedback: "Bytes of feedback payloads.",
  files: "Bytes of uploaded files.",
  traces: "Bytes of files that Weave clients published.",
};

export const retentionQuerySchema = Type.Object({
  entity: Type.Optional(
    Type.String({
      description:
        "Entity (tenant) that the report covers. Members may give only their own entity. Default: all entities for admins, the own entity for members.",
    }),
  ),
});

const storedSchema = Type.Object(
  Object.fromEntries(
    storedKinds.map((each) => [each, Type.Integer({ minimum: 0, description: storedWords[each] })]),
  ),
  { title: "StoredBytes" },
);

export const retentionSchema = Type.Object(
  {
    stored: storedSchema,
    quota_bytes: orNull(Type.Integer({ minimum: 0 }), {
      description:
        "Storage quota in bytes for all of the entity's data; null if there is no quota, or if the answer covers all entities.",
    }),
    rules: Type.Array(ruleSchema),
    removed: Type.Array(removedOfDayAnswer.schema, {
      description:
        "Data removed by the retention limits, latest day first; at most 1,000 rows of the last 400 days.",
    }),
  },
  { title: "Retention" },
);

const sweepFields = {
  dryRun: flag({ default: false, about: "True to remove nothing, and only report what would be removed." }),
};
export const sweepForm = creation("RetentionSweepCreate", creationRows(sweepFields));

export const sweepAnswerSchema = Type.Object(
  {
    dry_run: Type.Boolean(),
    removed: Type.Array(removedAnswer.schema),
    is_complete: Type.Boolean({
      description:
        "False if the sweep reached its time limit before it had removed all data beyond the retention limits. The server removes the rest automatically.",
    }),
  },
  { title: "RetentionSweep" },
);

interface Policy {
  readonly days: number;
  readonly entityBytes: number;
  readonly modelCount: number;
}

export function retentionBody(
  policies: Readonly<Record<KeptKind, Policy>>,
  stored: Readonly<Record<StoredKind, number>>,
  quotaBytes: number | null,
  removed: readonly RemovedOfDay[],
): Static<typeof retentionSchema> {
  const limit = (value: number): number | null => (value === 0 ? null : value);
  return {
    stored,
    quota_bytes: quotaBytes,
    rules: keptKinds.map((each) => ({
      kind: each,
      days: limit(policies[each].days),
      entity_bytes: limit(policies[each].entityBytes),
      model_count: limit(policies[each].modelCount),
      stored_bytes: stored[each],
    })),
    removed: removed.map(removedOfDayAnswer.body),
  };
}
