// Retention settings: those that the operator sets, and constants that are the same on all servers. By default,
// everything is kept except recorded completions.
import type { KeepLimits, KeptKind } from "../../base/domain/retention/retention-store.ts";
import { invalid, type ServiceError } from "../../base/domain/service-error.ts";
import { readSize } from "../../base/domain/text/size-text.ts";
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  entityBytes: {
    kind: "list",
    default: [],
    about:
      "Storage quota per entity, such as `20GB`. `acme=5GB` sets the quota of one entity, `acme=0` removes it. Writes above the quota are refused with 429 until data is deleted. Units: kB, MB, GB, TB, or bytes without a unit. Default: unlimited.",
  },
  trajectories: {
    kind: "list",
    default: [],
    about:
      "Retention limits of logged trajectories: maximum age (`90d`), and maximum size per entity (`20GB`), where the newest logs are kept. A model's newest log and all metrics are always kept. Default: all logs are kept.",
  },
  jobs: {
    kind: "list",
    default: [],
    about:
      "Retention limits of training jobs' data, and of their events except the last: maximum age (`90d`, counted from the job's end), and maximum size per entity (`20GB`). The jobs and their versions are kept. Default: all data is kept.",
  },
  recordings: {
    kind: "list",
    default: ["30d", "100000/model"],
    about:
      "Retention limits of recorded completions: maximum age (`30d`), maximum size per entity (`20GB`), and maximum number per model (`100000/model`). The newest completions are kept. If empty, all completions are kept.",
  },
  revisions: {
    kind: "list",
    default: [],
    about:
      "Retention limits of replaced feedback (earlier revisions): maximum age (`90d`), and maximum size per entity (`20GB`). Default: all revisions are kept.",
  },
  auditDays: {
    kind: "number",
    default: 0,
    min: 0,
    max: 36_500,
    about:
      "Age in days at which lines of the audit log are removed. Some lines are removed later, at the latest at twice this age. 0 sets no maximum age.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Interval between retention sweeps in seconds. */
  sweepSeconds: 60,
  /** Pause in milliseconds between the steps of a sweep, in which other work runs. */
  stepPauseMs: 20,
  /** Time limit in seconds of one sweep for each kind of data. The next sweep continues where this one stopped. */
  kindSeconds: 30,
  /** Time in seconds that an entity's usage is cached for checks of its quota. */
  usedSeconds: 2,
  /** Time in seconds without a heartbeat of the server that sweeps. After this time, another server takes over. */
  leaseSeconds: 120,
};

export const retentionSettings = section(schema, fixed);

export type RetentionSettings = SettingsIn<typeof retentionSettings>;

/** Configured retention limits for one kind of data. `days` is the age limit. Zero means no limit. */
export interface KeepPolicy {
  readonly days: number;
  readonly entityBytes: number;
  readonly modelCount: number;
}

/**
 * Parses the settings into limits for each kind of data.
 *
 * @throws ServiceError `invalid` naming the setting and the item that cannot be parsed
 */
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

export function resolveLimits(
  { days: keptDays, entityBytes, modelCount }: KeepPolicy,
  now: Date,
): KeepLimits {
  return {
    before: keptDays === 0 ? null : new Date(now.getTime() - keptDays * dayMs),
    entityBytes: entityBytes === 0 ? null : entityBytes,
    modelCount: modelCount === 0 ? null : modelCount,
  };
}
