// What the routes for clients of Weave have in common.
import { locate, relocate } from "../../wire/places.ts";

/** A route's schema, under the heading and with the credentials of all of them. */
export function documented<Schema extends object>(schema: Schema) {
  return { ...schema, tags: ["weave"], security: [{ basic: [] }] };
}

/**
 * What throws a service's error with its faults, which name fields, within the body that they came in. What was not found
 * was named by its digest, unless its error says otherwise.
 */
export function inBody(...within: readonly string[]): (error: unknown) => never {
  return (error) => {
    throw relocate(locate(error, { not_found: ["digest"] }), (location) => ["body", ...within, ...location]);
  };
}
