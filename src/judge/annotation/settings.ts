// What annotation queues go by: what an operator sets, and what is the same on every server.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /** Most items of a queue; whoever claims one may have to pass over as many. */
  queueItems: 10_000,
  /** How long a claimed item is held, unless the request says; then others are given it. */
  holdSeconds: 600,
  /** Most questions of a queue, its own and those of specs together. */
  questions: 50,
};

export const annotationSettings = section(schema, fixed);

export type AnnotationSettings = SettingsIn<typeof annotationSettings>;
