// A constraint is judged by the engine, once it has the request; its words name no field of the caller's.
import { chatFault, type ChatRequest } from "../domain/chat.ts";
import { ServiceError } from "../domain/service-error.ts";

/** The error of a generation; a refusal of the constraint names the constraint's field. */
export function locateRefusal(error: unknown, { constraint }: ChatRequest): unknown {
  if (constraint === null || !(error instanceof ServiceError)) return error;
  const { code, message, faults } = error;
  if (code !== "unsupported" || faults.length > 0) return error;
  return new ServiceError({
    code,
    faults: [chatFault("constraint", { message, type: "unsupported" })],
    cause: error,
  });
}
