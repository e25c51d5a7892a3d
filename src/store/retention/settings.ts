// How long what is stored stays: what an operator sets, and what is the same on every server. Without any of it all stays but
// recorded completions, which have limits of their own (inference/chat/recordings/settings).
import type { KeepLimits, KeptKind } from "../../base/domain/retention/retention-store.ts";
import { section, type Setting, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const days = (about: string) =>
  ({ kind: "number", default: 0, min: 0, max: 36_500, about }) as const satisfies Setting;

const bytes = (about: string) =>
  ({ kind: "integer", default: 0, min: 0, max: Number.MAX_SAFE_INTEGER, about }) as const satisfies Setting;

const schema = {
  entityBytes: bytes(
    "Bytes that all that is stored of an entity may have together; more is refused with 429 until some is deleted. 0 is no limit.",
  ),
  entityQuotas: {
    kind: "list",
    default: [],
    about:
      "What stands in its place for single entities, such as `acme=20GB`; `acme=0` is no limit. kB, MB, GB and TB, or bytes.",
  },
  trajectoryDays: days(
    "Logged trajectories are removed after so many days, but for a model's newest log; their metrics stay. 0 keeps them.",
  ),
  trajectoryBytes: bytes(
    "Of an entity's logged trajectories the newest so many bytes are kept; 0 keeps all.",
  ),
  jobDays: days(
    "What a training job trained on, and its events but the last, are removed so many days after its end; the job and its version stay. 0 keeps them.",
  ),
  jobBytes: bytes(
    "Of the data of an entity's jobs that have ended the newest so many bytes are kept; 0 keeps all.",
  ),
  recordingBytes: bytes(
    "Of an entity's recorded completions the newest so many bytes are kept; 0 keeps all. `recordings.keepDays` and `recordings.keepPerModel` limit them too.",
  ),
  revisionDays: days("What feedback was before it was replaced is removed after so many days; 0 keeps it."),
  revisionBytes: bytes(
    "Of what an entity's feedback was before it was replaced the newest so many bytes are kept; 0 keeps all.",
  ),
  auditDays: days(
    "Lines of the audit log are removed after so many days, at the latest after twice as many; 0 keeps them as long as there is room.",
  ),
} as const satisfies SettingsSchema;

const fixed = {
  /** Between two looks for what does not stay. */
  sweepSeconds: 60,
  /** Between two steps, for others. */
  stepPauseMs: 20,
  /** Of one look at one kind: what is left then goes with the next one. */
  kindSeconds: 30,
  /** How long it is kept how much there is of an entity, for its quota. */
  usedSeconds: 2,
  /** After the last sign of a server that sweeps, another one does. */
  leaseSeconds: 120,
};

export const retentionSettings = section(schema, fixed);

export type RetentionSettings = SettingsIn<typeof retentionSettings>;

/** How much of a kind stays, as it is configured: days, and zero for no limit. */
export interface KeepPolicy {
  readonly days: number;
  readonly entityBytes: number;
  readonly modelCount: number;
}

export function keepPolicies(
  settings: RetentionSettings,
  recordings: { readonly keepDays: number; readonly keepPerModel: number },
): Readonly<Record<KeptKind, KeepPolicy>> {
  const { trajectoryDays, trajectoryBytes, jobDays, jobBytes } = settings;
  const { recordingBytes, revisionDays, revisionBytes } = settings;
  return {
    trajectories: { days: trajectoryDays, entityBytes: trajectoryBytes, modelCount: 0 },
    jobs: { days: jobDays, entityBytes: jobBytes, modelCount: 0 },
    recordings: {
      days: recordings.keepDays,
      entityBytes: recordingBytes,
      modelCount: recordings.keepPerModel,
    },
    revisions: { days: revisionDays, entityBytes: revisionBytes, modelCount: 0 },
  };
}

const dayMs = 86_400_000;

export function limitsAt({ days: keptDays, entityBytes, modelCount }: KeepPolicy, now: Date): KeepLimits {
  return {
    before: keptDays === 0 ? null : new Date(now.getTime() - keptDays * dayMs),
    entityBytes: entityBytes === 0 ? null : entityBytes,
    modelCount: modelCount === 0 ? null : modelCount,
  };
}
