// Settings of recordings: the operator's, and fixed values.
import { section, type SettingsIn, type SettingsSchema } from "../../../base/domain/settings.ts";

const mebibyte = 1024 * 1024;

const schema = {
  record: {
    kind: "choice",
    default: "on",
    choices: ["on", "asked", "off"],
    about:
      "Recording of trained models' completions, with their messages and tokens: `on` records all but those whose request says `store: false`; `asked` records only those that say `store: true`. Answers of base models are never recorded.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /**
   * Largest recording in bytes, at four for each token of a prompt and about twenty for each of an answer. A larger
   * one is stored without messages and tokens, but with its beginning.
   */
  bytesMax: mebibyte,
  /** How long an answer waits for its recording: long enough for a busy disk, short enough for its client. */
  waitMs: 500,
  /** Maximum size of the queue, counted like `bytesMax`; further recordings are lost. */
  waitingBytesMax: 64 * mebibyte,
  /** Maximum recordings in one transaction. */
  batchMax: 100,
  batchBytesMax: 4 * mebibyte,
  /** Pauses between retries of a write; after the last one a batch is lost. */
  pausesMs: [200, 1000, 5000] as readonly number[],
};

export const recordingSettings = section(schema, fixed);

export type RecordingSettings = SettingsIn<typeof recordingSettings>;
