// Fields of a chat request that requests of other APIs have too, where they mean the same. Whoever reads such a request
// makes a chat request of it, which checks what they hold and refuses what is not served.
import { Type } from "typebox";
import type { Field } from "../fields/field.ts";
import { chatFields } from "./chat-request.ts";

/** The fields that have no other name in requests of other APIs. */
export type BorrowedName = {
  [Name in keyof typeof chatFields]: (typeof chatFields)[Name] extends { readonly inResponses: false }
    ? never
    : Name;
}[keyof typeof chatFields];

export const borrowedNames = Object.entries<Field>(chatFields)
  .filter(([, { inResponses = true }]) => inResponses)
  // As the rows say.
  .map(([name]) => name as BorrowedName);

/** The rows of these, with schemas that document what they hold and check nothing. */
export function borrowedFields<Name extends BorrowedName>(
  names: readonly Name[],
): Readonly<Record<Name, ReturnType<typeof unchecked>>> {
  // The entries have these names.
  return Object.fromEntries(names.map((name) => [name, unchecked(name)])) as Readonly<
    Record<Name, ReturnType<typeof unchecked>>
  >;
}

const unchecked = (name: BorrowedName) => ({
  schema: Type.Optional(Type.Unsafe<unknown>(chatFields[name].schema)),
  reads: chatFields[name].reads,
});

/** Those of a body that were sent, since templates show what is there. */
export function borrowed(
  body: Readonly<Partial<Record<BorrowedName, unknown>>>,
  names: readonly BorrowedName[] = borrowedNames,
): object {
  return given(Object.fromEntries(names.map((name) => [name, body[name]])));
}

/** Without members that were not sent. */
export function given(members: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
