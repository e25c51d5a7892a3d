// The settings of uploaded files.
import type { SettingsOf, SettingsSchema } from "../domain/settings.ts";

const mebibyte = 1024 * 1024;

export const fileSettings = {
  fileBytes: {
    kind: "integer",
    default: 256 * mebibyte,
    min: 1024,
    max: 480 * mebibyte,
    about: "Largest file that can be uploaded, in bytes.",
  },
  entityBytes: {
    kind: "integer",
    default: 4096 * mebibyte,
    min: 1024,
    max: Number.MAX_SAFE_INTEGER,
    about: "Bytes that the files of one entity may have together; more are refused until some are deleted.",
  },
  unusedDays: {
    kind: "number",
    default: 90,
    min: 0,
    max: 36_500,
    about: "A file that no job has named for so long is deleted; 0 keeps every file.",
  },
  sweepSeconds: {
    kind: "integer",
    default: 3600,
    min: 1,
    max: 86_400,
    about: "How often unused files are looked for, in seconds.",
  },
} as const satisfies SettingsSchema;

export type FileSettings = SettingsOf<typeof fileSettings>;
