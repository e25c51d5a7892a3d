// What training on feedback goes by: what an operator sets, and what is the same on every server.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  lookSeconds: {
    kind: "number",
    default: 10,
    min: 0.1,
    max: 3600,
    about: "How often standing reward rules look for new feedback.",
  },
  rulesPerProject: {
    kind: "integer",
    default: 100,
    min: 1,
    max: 10_000,
    about: "Reward rules that one project may have.",
  },
  feedbackPerJob: {
    kind: "integer",
    default: 20_000,
    min: 1,
    max: 1_000_000,
    about: "Feedback records that one request for a job from feedback, or for its preview, may look at.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Lines of a job that comes from feedback; those of a request for one may have four times as many. */
  jobBytesMax: 64 * 1024 * 1024,
  /** So many jobs of a standing rule that failed one after the other pause it. */
  failuresMax: 3,
};

export const rewardSettings = section(schema, fixed);

export type RewardSettings = SettingsIn<typeof rewardSettings>;
