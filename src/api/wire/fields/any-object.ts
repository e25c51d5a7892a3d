// Schema options for objects that may have members that the schema does not name.
import { Type } from "typebox";

/** Accepts and keeps unknown members. */
export const open = { additionalProperties: true };

/** Keeps unknown members, because a chat template may use them. Also reports them as ignored. */
export const named = { additionalProperties: true, "x-names-unknown": true };

export const anyObject = Type.Object({}, open);
