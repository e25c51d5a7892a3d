// Settings of rollouts: limits for the operator, and constants that all servers share.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  openPerEntity: {
    kind: "integer",
    default: 10_000,
    min: 1,
    max: 1_000_000,
    about: "Maximum number of open rollouts of an entity.",
  },
  callsMax: {
    kind: "integer",
    default: 1000,
    min: 1,
    max: 100_000,
    about: "Maximum number of calls in a rollout, checked when a call begins.",
  },
  tokensMax: {
    kind: "integer",
    default: 20_000_000,
    min: 1,
    max: 1_000_000_000,
    about:
      "Maximum number of prompt and answer tokens of all calls in a rollout, checked when a call begins.",
  },
  keptDays: {
    kind: "number",
    default: 30,
    min: 0,
    max: 36_500,
    about:
      "Number of days after its end for which a rollout is kept; then it is deleted. Rollouts of unfinished jobs are kept longer. 0 keeps all rollouts. `retention.recordings` limits how long the recorded calls of rollouts are kept.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Maximum size in bytes of a job's training data. It equals the default limit for jobs that are sent in requests. */
  jobBytesMax: 256 * 1024 * 1024,
  /** Maximum number of rollouts that one statement deletes. */
  deletedAtOnce: 500,
  /** Maximum number of rollouts in a job. */
  rolloutsPerJob: 10_000,
};

export const rolloutSettings = section(schema, fixed);

export type RolloutSettings = SettingsIn<typeof rolloutSettings>;
