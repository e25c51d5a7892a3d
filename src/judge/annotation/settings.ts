// Settings of annotation queues: those of the operator, and constants shared by all servers.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /** Maximum number of items in a queue; a claim may have to skip as many. */
  queueItems: 10_000,
  /** Default time for which a claimed item is held before others may get it. */
  holdSeconds: 600,
  /** Maximum number of questions in a queue, including those of specs. */
  questions: 50,
};

export const annotationSettings = section(schema, fixed);

export type AnnotationSettings = SettingsIn<typeof annotationSettings>;
