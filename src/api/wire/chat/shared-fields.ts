// Fields of a chat request that other APIs share with the same meaning. Their readers convert the request to a chat
// request, which checks these fields and refuses unsupported ones.
import { Type } from "typebox";
import type { Field } from "../fields/field.ts";
import { chatFields } from "./chat-request.ts";

/** Names of the fields that have no other name in other APIs. */
export type SharedName = {
  [Name in keyof typeof chatFields]: (typeof chatFields)[Name] extends { readonly inResponses: false }
    ? never
    : Name;
}[keyof typeof chatFields];

export const sharedNames = Object.entries<Field>(chatFields)
  .filter(([, { inResponses = true }]) => inResponses)
  // Safe cast: the rows define it.
  .map(([name]) => name as SharedName);

/** Returns the rows of these fields, with schemas that document their values but check nothing. */
export function sharedFields<Name extends SharedName>(
  names: readonly Name[],
): Readonly<Record<Name, ReturnType<typeof unchecked>>> {
  // Safe cast: the entries have these names.
  return Object.fromEntries(names.map((name) => [name, unchecked(name)])) as Readonly<
    Record<Name, ReturnType<typeof unchecked>>
  >;
}

const unchecked = (name: SharedName) => ({
  schema: Type.Optional(Type.Unsafe<unknown>(chatFields[name].schema)),
  reads: chatFields[name].reads,
});

/** Returns those fields of a body that were sent; templates can see which are present. */
export function pickShared(
  body: Readonly<Partial<Record<SharedName, unknown>>>,
  names: readonly SharedName[] = sharedNames,
): object {
  return omitUndefined(Object.fromEntries(names.map((name) => [name, body[name]])));
}

/** Removes members that were not sent. */
export function omitUndefined(members: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
