// Settings of uploaded files: some for the operator, and constants that all servers share.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const mebibyte = 1024 * 1024;

const schema = {
  entityBytes: {
    kind: "integer",
    default: 4096 * mebibyte,
    min: 1024,
    max: Number.MAX_SAFE_INTEGER,
    about:
      "Maximum total size in bytes of an entity's uploaded files, and separately of the files that Weave clients published for the entity. Above this size, further files are refused until files are deleted.",
  },
  unusedDays: {
    kind: "number",
    default: 90,
    min: 0,
    max: 36_500,
    about: "Number of days after which an uploaded file that no job uses is deleted; 0 keeps all files.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Maximum size of an uploaded file in bytes. A server accepts files as large as other request bodies. */
  fileBytes: 256 * mebibyte,
  /** Interval in seconds between sweeps for unused files. */
  sweepSeconds: 3600,
};

export const fileSettings = section(schema, fixed);

export type FileSettings = SettingsIn<typeof fileSettings>;

/** Limits of uploads in parts. As in OpenAI's API, a part has at most 64 MiB, and an upload expires after an hour. */
export const partSettings = {
  bytesMax: 64 * mebibyte,
  /** Maximum number of parts of an upload. */
  countMax: 1000,
  /** Maximum number of an entity's pending uploads. */
  pendingMax: 100,
  /** Time in seconds after which a pending upload expires. */
  lifeSeconds: 3600,
  /**
   * Time in seconds for which the server still reports that an upload has expired. After that, it answers that the
   * upload does not exist.
   */
  shownSeconds: 86_400,
};
