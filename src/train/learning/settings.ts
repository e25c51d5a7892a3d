// Settings of learning while a model is used, which all servers share.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /** Interval in milliseconds at which a server looks at its learning models. */
  lookMs: 30_000,
  /** Maximum number of models on which one server works at a time; further ones wait for the next look. */
  modelsAtOnce: 4,
  /**
   * Maximum number of a model's preferences that one look reads, the newest first; maximum number of preferences in a
   * learning job.
   */
  preferencesRead: 4096,
  preferencesMax: 2048,
  /** Maximum size in bytes of a learning job's training data. */
  jobBytesMax: 64 * 1024 * 1024,
  /** Maximum number of feedback records that one look reads. */
  feedbackPerJob: 20_000,
  /** Maximum number of recorded chats in which one look searches for held-out prompts, the newest first. */
  recordingsSearched: 1000,
  /** Maximum numbers of recorded chats and of judged messages in one look, so that each look ends soon. */
  recordingsPerLook: 200,
  judgedPerLook: 20,
  /** Maximum number of answered turns per model that a later message can continue, the newest first. */
  turnsKept: 20_000,
  /** Maximum length in tokens of an answer to a held-out prompt. */
  answerTokensMax: 512,
  /** Time in milliseconds after which a candidate that could not be evaluated is refused. */
  evaluationMsMax: 24 * 3600 * 1000,
  /**
   * Before each request to a model, the server waits until it answers no other requests: it checks every `idlePollMs`
   * milliseconds, and waits at most `idleMsMax` milliseconds.
   */
  idlePollMs: 250,
  idleMsMax: 30_000,
};

export const learningSettings = section(schema, fixed);

export type LearningSettings = SettingsIn<typeof learningSettings>;
