// What annotation queues go by: what an operator sets, and what is the same on every server.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  queueItems: {
    kind: "integer",
    default: 10_000,
    min: 1,
    max: 1_000_000,
    about: "Most items of an annotation queue; whoever claims one may have to pass over as many.",
  },
  holdSeconds: {
    kind: "number",
    default: 600,
    min: 1,
    max: 86_400,
    about:
      "An item that an annotator has claimed is held for so long, unless the request says how long; then others are given it.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Most questions of a queue, its own and those of specs together. */
  questions: 50,
};

export const annotationSettings = section(schema, fixed);

export type AnnotationSettings = SettingsIn<typeof annotationSettings>;
