// Settings of training on feedback: those of the operator, and constants shared by all servers.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /** Interval at which automatic reward rules look for new feedback. */
  lookSeconds: 10,
  /** Maximum number of reward rules in a project. */
  rulesPerProject: 100,
  /** Maximum number of feedback records that one request for a job from feedback, or for its preview, may read. */
  feedbackPerJob: 20_000,
  /**
   * Maximum size of the lines of a job created from feedback; a job submitted with its own data may have four times as
   * much.
   */
  jobBytesMax: 64 * 1024 * 1024,
  /** Number of consecutive failed jobs after which an automatic rule is paused. */
  failuresMax: 3,
};

export const rewardSettings = section(schema, fixed);

export type RewardSettings = SettingsIn<typeof rewardSettings>;
