// Settings of annotation queues: some for the operator, and constants that all servers share.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /** Maximum number of items in a queue. In the worst case, finding an annotator's next item searches all of them. */
  queueItems: 10_000,
  /** Time in seconds that a claimed item is held by default before other annotators may claim it. */
  holdSeconds: 600,
  /** Maximum number of questions in a queue. Questions of annotation specs to which the queue refers count too. */
  questions: 50,
};

export const annotationSettings = section(schema, fixed);

export type AnnotationSettings = SettingsIn<typeof annotationSettings>;
