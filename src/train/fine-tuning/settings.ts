// Settings of the reinforcement loop, which all servers share.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /** Interval in milliseconds at which a server looks for jobs and for changes of their state. */
  lookMs: 1000,
  /** Maximum number of reinforcement jobs that one server runs at a time; further ones wait. */
  jobsMax: 4,
  /** Maximum number of items of one job that are answered at a time, so that other requests are not crowded out. */
  itemsAtOnce: 2,
  /** Maximum length of a sampled answer in tokens. */
  answerTokensMax: 1024,
  /** Maximum number of items that an evaluation uses. It takes the first items of the validation file. */
  evaluatedMax: 64,
  /** Time in milliseconds to wait before repeating a request, if the server was too busy to answer it. */
  busyMs: 2000,
};

export const fineTuningSettings = section(schema, fixed);

export type FineTuningSettings = SettingsIn<typeof fineTuningSettings>;

/** Maximum number of steps of a reinforcement job. */
export const reinforcementStepsMax = 1000;
