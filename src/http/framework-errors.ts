// Fastify's own refusals, in our words: a body too large, a wrong content type, a URL that cannot be read.
import type { FastifyRequest } from "fastify";
import { ServiceError } from "../domain/service-error.ts";
import { HttpRefusal } from "./errors.ts";

/** Translates what the framework threw; anything else is returned as it is. */
export function translated(error: unknown, request: FastifyRequest): unknown {
  const code = codeOf(error);
  switch (code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return tooLarge(request.routeOptions.bodyLimit);
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
    case "FST_ERR_CTP_INVALID_TYPE":
      return wrongContentType(request.headers["content-type"]);
    case "FST_ERR_BAD_URL":
    case "FST_ERR_MAX_PARAM_LENGTH":
      return located("path", "The path cannot be read; percent-encode it as UTF-8.", error);
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return located("body", "The body is not as long as its Content-Length says.", error);
    case "ECONNRESET":
    case "ERR_STREAM_PREMATURE_CLOSE":
      return new ServiceError({ code: "cancelled", message: "The client went away.", cause: error });
    default:
      return error;
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}

function tooLarge(limit: number | undefined): ServiceError {
  const message = `The body is larger than ${limit} bytes, the most this route takes; send less at a time.`;
  const faults = [{ location: ["body"], message, type: "too_large" }];
  return new ServiceError({ code: "too_large", faults });
}

function wrongContentType(given: string | undefined): HttpRefusal {
  const what =
    given === undefined
      ? "There is no Content-Type"
      : `The Content-Type is ${JSON.stringify(given.slice(0, 100))}`;
  const message = `${what}; only application/json is read.`;
  return new HttpRefusal({
    status: 415,
    code: "invalid",
    faults: [{ location: ["header", "content-type"], message, type: "unsupported_media_type" }],
  });
}

function located(place: string, message: string, cause: unknown): ServiceError {
  return new ServiceError({
    code: "invalid",
    faults: [{ location: [place], message, type: "value_error" }],
    cause,
  });
}
