// Objects that may have members beyond those that a schema names.
import { Type } from "typebox";

/** Of an object: unknown keys are kept. */
export const open = { additionalProperties: true };

/** Of an object: unknown keys are kept, for a template may show them, and named as ignored. */
export const named = { additionalProperties: true, "x-names-unknown": true };

export const anyObject = Type.Object({}, open);
