// Reads a request's parsed body by its form.
import type { FastifyReply, FastifyRequest } from "fastify";
import { readForm, type BodyForm } from "../../wire/body.ts";
import type { ObjectSchema, ValueOf } from "../../wire/checked.ts";
import { nameIgnored } from "./ignored-fields.ts";

/** As {@link readForm}, of a request's body that was parsed; names to the client the fields that nothing reads. */
export function readBody<Schema extends ObjectSchema>(
  form: BodyForm<Schema>,
  request: FastifyRequest,
  reply: FastifyReply,
): ValueOf<Schema> {
  const { value, ignored } = readForm(form, request.body);
  nameIgnored(reply, ignored);
  return value;
}
