// Fields of a chat request that other APIs have, too, with the same name and meaning. Requests of these APIs are
// converted to chat requests, so only the reader of chat requests checks the fields and refuses unsupported ones.
import { Type } from "typebox";
import type { Field } from "../fields/field.ts";
import { chatFields } from "./chat-request.ts";

/** Names of the fields that other APIs have in common with a chat request. */
export type SharedName = {
  [Name in keyof typeof chatFields]: (typeof chatFields)[Name] extends { readonly inResponses: false }
    ? never
    : Name;
}[keyof typeof chatFields];

export const sharedNames = Object.entries<Field>(chatFields)
  .filter(([, { inResponses = true }]) => inResponses)
  // Safe cast: the filter and the type exclude the same fields.
  .map(([name]) => name as SharedName);

/** Returns the rows of the named fields. Their schemas document the values, but check nothing. */
export function sharedFields<Name extends SharedName>(
  names: readonly Name[],
): Readonly<Record<Name, ReturnType<typeof unchecked>>> {
  // Safe cast: the object has exactly the names in `names`.
  return Object.fromEntries(names.map((name) => [name, unchecked(name)])) as Readonly<
    Record<Name, ReturnType<typeof unchecked>>
  >;
}

const unchecked = (name: SharedName) => ({
  schema: Type.Optional(Type.Unsafe<unknown>(chatFields[name].schema)),
  reads: chatFields[name].reads,
});

/**
 * Returns the named fields that the body contains. Absent fields stay absent, because chat templates can detect whether
 * a field is present.
 */
export function pickShared(
  body: Readonly<Partial<Record<SharedName, unknown>>>,
  names: readonly SharedName[] = sharedNames,
): object {
  return omitUndefined(Object.fromEntries(names.map((name) => [name, body[name]])));
}

/** Returns the members without those that are undefined. */
export function omitUndefined(members: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
