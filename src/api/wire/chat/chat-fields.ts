// How the body of a chat request is read: its fields, and what may not be sent together. What only an engine cannot do is
// read; chat refuses it by what the engine says of itself.
import type { BodyForm } from "../body.ts";
import type { Fields } from "../fields/field.ts";
import type { WirePlaces } from "../places.ts";
import { checkCombinations } from "./chat-combinations.ts";
import { unservedConstraint } from "./chat-constraint.ts";
import { chatFields, chatRequestSchema } from "./chat-request.ts";

export const chatForm: BodyForm<typeof chatRequestSchema> = {
  schema: chatRequestSchema,
  fields: chatFields,
  more: checkCombinations,
  moreUnserved: unservedConstraint,
};

/** Where the fields of a domain request stand in the body that it was read from by these. */
export function placesOf(fields: Fields, body: object): WirePlaces {
  // Whoever resolves a model's name knows nothing of chat requests and their groups.
  const places: Record<string, readonly string[]> = { model: ["body", "model"] };
  const names = Object.entries(fields);
  const sent = new Map(Object.entries(body));
  const wasSent = ([name]: readonly [string, unknown]): boolean => (sent.get(name) ?? null) !== null;
  for (const [name, { reads }] of [...names.filter(wasSent), ...names]) {
    if (reads !== null) places[reads] ??= ["body", name];
  }
  return places;
}
