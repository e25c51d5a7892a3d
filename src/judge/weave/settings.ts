// What traces go by: what an operator sets, and what is the same on every server.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const mebibyte = 1024 * 1024;

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /** Bytes that the traced files of one entity may have together. A server takes `files.entityBytes`. */
  entityBytes: 4096 * mebibyte,
  /** Of one file: code of an op, an image, a recording. */
  fileBytes: 64 * mebibyte,
  /** Between two looks for files that nobody knows. */
  sweepSeconds: 3600,
};

export const traceSettings = section(schema, fixed);

export type TraceSettings = SettingsIn<typeof traceSettings>;
