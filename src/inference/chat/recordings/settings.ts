// What recordings go by: what an operator sets, and what is the same on every server.
import { section, type SettingsIn, type SettingsSchema } from "../../../base/domain/settings.ts";

const mebibyte = 1024 * 1024;

const schema = {
  record: {
    kind: "choice",
    default: "on",
    choices: ["on", "asked", "off"],
    about:
      "Whether completions of trained models are recorded, with their messages and tokens: `on` records all but those whose request says `store: false`, `asked` those alone that say `store: true`. What base models answer is never recorded.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /**
   * Largest recording in bytes, at four for each token of a prompt and some twenty for each of an answer; of a larger one neither
   * messages nor tokens are recorded, but that it was, and how it began.
   */
  bytesMax: mebibyte,
  /** How long an answer waits until it is recorded: long enough for a busy disk, short enough for its client. */
  waitMs: 500,
  /** Of what waits to be written, as large as `bytesMax` counts it; what comes on top is lost. */
  waitingBytesMax: 64 * mebibyte,
  /** Of one transaction. */
  batchMax: 100,
  batchBytesMax: 4 * mebibyte,
  /** Between tries to write; after the last one a batch is lost. */
  pausesMs: [200, 1000, 5000] as readonly number[],
};

export const recordingSettings = section(schema, fixed);

export type RecordingSettings = SettingsIn<typeof recordingSettings>;
