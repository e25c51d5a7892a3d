// How long what is stored stays: what an operator sets, and what is the same on every server. Without any of it all stays but
// recorded completions.
import type { KeepLimits, KeptKind } from "../../base/domain/retention/retention-store.ts";
import { invalid, type ServiceError } from "../../base/domain/service-error.ts";
import { readSize } from "../../base/domain/text/size-text.ts";
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  entityBytes: {
    kind: "list",
    default: [],
    about:
      "Bytes that all that is stored of an entity may have together, such as `20GB`, and for single entities `acme=5GB`, or `acme=0` for no limit; more is refused with 429 until some is deleted. kB, MB, GB and TB, or bytes. No limit unless given.",
  },
  trajectories: {
    kind: "list",
    default: [],
    about:
      "How long logged trajectories are kept (`90d`), and how many bytes of an entity's newest (`20GB`), but for a model's newest log; their metrics stay. All are kept unless given.",
  },
  jobs: {
    kind: "list",
    default: [],
    about:
      "The same of what a training job trained on, and of its events but the last, from its end on; the job and its version stay.",
  },
  recordings: {
    kind: "list",
    default: ["30d", "100000/model"],
    about:
      "The same of recorded completions, and how many of each model's newest (`100000/model`); empty keeps all.",
  },
  revisions: {
    kind: "list",
    default: [],
    about: "The same of what feedback was before it was replaced.",
  },
  auditDays: {
    kind: "number",
    default: 0,
    min: 0,
    max: 36_500,
    about:
      "Lines of the audit log are removed after so many days, at the latest after twice as many; 0 keeps them as long as there is room.",
  },
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

/** @throws ServiceError `invalid` naming the setting and the item that cannot be read */
export function keepPolicies(settings: RetentionSettings): Readonly<Record<KeptKind, KeepPolicy>> {
  return {
    trajectories: readPolicy("trajectories", settings.trajectories),
    jobs: readPolicy("jobs", settings.jobs),
    recordings: readPolicy("recordings", settings.recordings),
    revisions: readPolicy("revisions", settings.revisions),
  };
}

function readPolicy(kind: KeptKind, items: readonly string[]): KeepPolicy {
  let policy: KeepPolicy = { days: 0, entityBytes: 0, modelCount: 0 };
  for (const item of items) {
    const bytes = readSize(item);
    const days = /^(\d{1,5}(?:\.\d+)?)d$/.exec(item);
    const count = kind === "recordings" ? /^(\d{1,9})\/model$/.exec(item) : null;
    if (days !== null) policy = { ...policy, days: Number(days[1]) };
    else if (count !== null) policy = { ...policy, modelCount: Number(count[1]) };
    else if (bytes !== null) policy = { ...policy, entityBytes: bytes };
    else throw invalidItem(kind, item);
  }
  return policy;
}

function invalidItem(kind: KeptKind, item: string): ServiceError {
  const forms = `days such as 90d and bytes such as 20GB${kind === "recordings" ? ", and a number of each model such as 1000/model" : ""}`;
  const message = `retention.${kind} has ${JSON.stringify(item)}; it takes ${forms}.`;
  return invalid(message);
}

const dayMs = 86_400_000;

export function limitsAt({ days: keptDays, entityBytes, modelCount }: KeepPolicy, now: Date): KeepLimits {
  return {
    before: keptDays === 0 ? null : new Date(now.getTime() - keptDays * dayMs),
    entityBytes: entityBytes === 0 ? null : entityBytes,
    modelCount: modelCount === 0 ? null : modelCount,
  };
}
