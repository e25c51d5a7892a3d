// Settings for recording answers: one setting for the operator, and fixed limits.
import { section, type SettingsIn, type SettingsSchema } from "../../../base/domain/settings.ts";

const mebibyte = 1024 * 1024;

const schema = {
  record: {
    kind: "choice",
    default: "on",
    choices: ["on", "asked", "off"],
    about:
      "Recording of the completions of trained models, with their messages and tokens. `on` records all completions except those of requests with `store: false`; `asked` records only those of requests with `store: true`; `off` records none. Completions of base models are never recorded.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /**
   * Maximum size of a recording in bytes, counting four bytes for each prompt token and about twenty for each answer
   * token. A larger recording is stored without messages and tokens, but with the beginnings of its texts.
   */
  bytesMax: mebibyte,
  /** Maximum size in bytes of the recording of a call in a rollout. It is larger, because no such call may be lost. */
  rolloutBytesMax: 16 * mebibyte,
  /**
   * Maximum time in milliseconds that the end of an answer waits for its recording. It is long enough for a busy
   * disk, but short for the client.
   */
  waitMs: 500,
  /** Maximum size of the queue in bytes, estimated as for `bytesMax`; recordings that exceed it are lost. */
  waitingBytesMax: 64 * mebibyte,
  /** Maximum number of recordings in one transaction. */
  batchMax: 100,
  batchBytesMax: 4 * mebibyte,
  /**
   * Pauses in milliseconds before the retries of a failed write. If the attempt after the last pause fails too, the
   * batch is lost.
   */
  pausesMs: [200, 1000, 5000] as readonly number[],
};

export const recordingSettings = section(schema, fixed);

export type RecordingSettings = SettingsIn<typeof recordingSettings>;
