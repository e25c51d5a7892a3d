// What does not stay of what is stored, as the API spells it.
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
import { answerOf, asked, creation } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";

const count = Type.Integer({ minimum: 0, description: "Logs, jobs, completions or revisions." });
const bytes = Type.Integer({ minimum: 0, description: "Of what was theirs alone." });
const kind = Type.Enum([...keptKinds], {
  description:
    "`trajectories` that were logged, what `jobs` that have ended trained on with their events, `recordings` of completions, and `revisions` of feedback.",
});

const ruleSchema = Type.Object(
  {
    kind,
    days: orNull(Type.Number({ minimum: 0 }), { description: "How long it stays; null for ever." }),
    entity_bytes: orNull(Type.Integer({ minimum: 0 }), {
      description: "Of an entity the newest so many bytes stay; null for all.",
    }),
    model_count: orNull(Type.Integer({ minimum: 0 }), {
      description: "Of a model the newest so many stay; null for all.",
    }),
    stored_bytes: Type.Integer({ minimum: 0, description: "What there is of it." }),
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
  last_at: Type.String({ description: "When the last of it was removed." }),
});
export const removedAnswer = answerOf<RemovedData & { readonly kind: KeptKind }>()("Removed", removedRows);

const storedWords: Readonly<Record<StoredKind, string>> = {
  trajectories: "Of logged trajectories.",
  jobs: "Of what jobs trained on, and the events of those that have ended.",
  recordings: "Of recorded completions, with what several have in common once.",
  revisions: "Of what feedback was before it was replaced.",
  feedback: "Of the payloads of feedback.",
  files: "Of uploaded files.",
  traces: "Of files that clients of traces published.",
};

export const retentionQuerySchema = Type.Object({
  entity: Type.Optional(
    Type.String({ description: "Only this entity's; another than the key's for admins." }),
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
        "What the entity may have of all that together; null where nothing limits it, or it is everybody's.",
    }),
    rules: Type.Array(ruleSchema),
    removed: Type.Array(removedOfDayAnswer.schema, {
      description: "What was removed by them, the latest day first; at most 1000 rows of the last 400 days.",
    }),
  },
  { title: "Retention" },
);

const sweepFields = {
  dryRun: flag({ default: false, about: "Removes nothing, and says what would be." }),
};
export const sweepForm = creation("RetentionSweepCreate", asked(sweepFields));

export const sweepAnswerSchema = Type.Object(
  {
    dry_run: Type.Boolean(),
    removed: Type.Array(removedAnswer.schema),
    is_complete: Type.Boolean({
      description: "False where there was no time for all of it: the server goes on by itself.",
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
