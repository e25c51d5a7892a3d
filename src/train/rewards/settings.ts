// What training on feedback goes by: what an operator sets, and what is the same on every server.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /** How often standing reward rules look for new feedback. */
  lookSeconds: 10,
  /** Reward rules of one project. */
  rulesPerProject: 100,
  /** Feedback records that one request for a job from feedback, or for its preview, may look at. */
  feedbackPerJob: 20_000,
  /** Lines of a job that comes from feedback; those of a request for one may have four times as many. */
  jobBytesMax: 64 * 1024 * 1024,
  /** So many jobs of a standing rule that failed one after the other pause it. */
  failuresMax: 3,
};

export const rewardSettings = section(schema, fixed);

export type RewardSettings = SettingsIn<typeof rewardSettings>;
