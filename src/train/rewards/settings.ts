// Settings of training on feedback: some for the operator, and constants that all servers share.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /** Interval in seconds at which automatic reward rules poll for new feedback. */
  lookSeconds: 10,
  /** Maximum number of reward rules in a project. */
  rulesPerProject: 100,
  /** Maximum number of feedback records that a single request may read, to create or preview a job. */
  feedbackPerJob: 20_000,
  /**
   * Maximum size in bytes of the training data of a job that Hone creates from feedback. It is a quarter of the limit
   * for data that a client submits.
   */
  jobBytesMax: 64 * 1024 * 1024,
  /** Number of consecutive failed jobs after which an automatic rule is paused. */
  failuresMax: 3,
};

export const rewardSettings = section(schema, fixed);

export type RewardSettings = SettingsIn<typeof rewardSettings>;
