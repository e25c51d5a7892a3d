// What traces go by: what an operator sets, and what is the same on every server.
import { defaultsOf, type SettingsOf, type SettingsSchema } from "../../base/domain/settings.ts";

const mebibyte = 1024 * 1024;

export const traceSettings = {
  entityBytes: {
    kind: "integer",
    default: 4096 * mebibyte,
    min: 1024,
    max: Number.MAX_SAFE_INTEGER,
    about:
      "Bytes that the traced files of one entity may have together; more are refused until traces of a project are deleted.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Of one file: code of an op, an image, a recording. */
  fileBytes: 64 * mebibyte,
  /** Between two looks for files that nobody knows. */
  sweepSeconds: 3600,
};

export type TraceSettings = Readonly<SettingsOf<typeof traceSettings> & typeof fixed>;

/** What traces go by, with what is given in place of the defaults. */
export function traceSettingsWith(given: Partial<TraceSettings> = {}): TraceSettings {
  return { ...defaultsOf(traceSettings), ...fixed, ...given };
}
