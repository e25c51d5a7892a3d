// Settings of traces: some for the operator, and constants that all servers share.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const mebibyte = 1024 * 1024;

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /**
   * Quota of an entity's traced files in bytes. The server overrides this default with the setting `files.entityBytes`.
   */
  entityBytes: 4096 * mebibyte,
  /** Maximum size in bytes of a traced file, such as an op's code, an image or an audio recording. */
  fileBytes: 64 * mebibyte,
  /** Interval in seconds between sweeps that remove unreferenced files. */
  sweepSeconds: 3600,
};

export const traceSettings = section(schema, fixed);

export type TraceSettings = SettingsIn<typeof traceSettings>;
