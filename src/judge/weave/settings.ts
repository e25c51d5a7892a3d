// Settings of traces: those of the operator, and constants shared by all servers.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const mebibyte = 1024 * 1024;

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /** Quota of an entity's traced files in bytes. A server uses `files.entityBytes`. */
  entityBytes: 4096 * mebibyte,
  /** Maximum size of one file: code of an op, an image, a recording. */
  fileBytes: 64 * mebibyte,
  /** Interval between sweeps for unreferenced files. */
  sweepSeconds: 3600,
};

export const traceSettings = section(schema, fixed);

export type TraceSettings = SettingsIn<typeof traceSettings>;
