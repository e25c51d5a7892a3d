// Objects of which a schema says little: any, and those that may have more than it names.
import { Type } from "typebox";

/** Of an object: unknown keys are kept. */
export const open = { additionalProperties: true };

export const anyObject = Type.Object({}, open);
