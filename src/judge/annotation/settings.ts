// Settings of annotation queues: those for the operator, and constants that all servers share.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /**
   * Maximum number of items in a queue. In the worst case, finding the next item for an annotator searches all of
   * them.
   */
  queueItems: 10_000,
  /** Default time in seconds for which a claimed item is held before other annotators may claim it. */
  holdSeconds: 600,
  /** Maximum number of questions in a queue, including questions of annotation specs to which the queue refers. */
  questions: 50,
};

export const annotationSettings = section(schema, fixed);

export type AnnotationSettings = SettingsIn<typeof annotationSettings>;
