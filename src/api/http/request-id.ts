// Under which id a request is logged and answered: the client's own where that is harmless, else a fresh one.
import type { FastifyRequest } from "fastify";
import { newUuid } from "../../base/domain/ids.ts";
import { quoted, ServiceError } from "../../base/domain/service-error.ts";
import type { RequestId } from "../wire/chat/completion-id.ts";

/** Harmless in a header, a log line and an address; covers what tracing and UUID libraries make. */
const harmless = /^[\w.:/+=@-]{1,128}$/;

type Headers = FastifyRequest["headers"];

/** The client's own id, or a fresh one for one that is not harmless. */
export function idFor(headers: Headers): string {
  const sent = headers["x-request-id"];
  return typeof sent === "string" && harmless.test(sent) ? sent : newUuid();
}

/** The id of a request and whose choice it is. */
export function requestIdOf({ id, headers }: Pick<FastifyRequest, "id" | "headers">): RequestId {
  return { value: id, isChosen: headers["x-request-id"] === id };
}

/**
 * For requests whose answer is named by the header.
 *
 * @throws ServiceError `invalid` for a header that cannot be an id
 */
export function refuseStrangeId({ id, headers }: Pick<FastifyRequest, "id" | "headers">): void {
  const sent = headers["x-request-id"];
  if (sent === undefined || sent === id) return;
  const message = `The header X-Request-Id is ${quoted(String(sent))}; it names the answer, and must have 1 to 128 of the letters a-z and A-Z, digits, and _ . : / + = @ -.`;
  const location = ["header", "x-request-id"];
  throw new ServiceError({ code: "invalid", faults: [{ location, message, type: "value_error" }] });
}
