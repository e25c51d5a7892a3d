// Schema options for objects with members beyond those in the schema.
import { Type } from "typebox";

/** Object option: unknown keys are kept. */
export const open = { additionalProperties: true };

/** Object option: unknown keys are kept, because a template may show them, and reported as ignored. */
export const named = { additionalProperties: true, "x-names-unknown": true };

export const anyObject = Type.Object({}, open);
