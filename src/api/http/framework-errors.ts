// Fastify's own refusals, in our words: a wrong content type, a URL that cannot be read, a file that is not there.
import type { FastifyRequest } from "fastify";
import { quoted, ServiceError } from "../../base/domain/service-error.ts";
import { HttpRefusal } from "./errors.ts";
import { wentAway } from "./request-end.ts";

/** Translates what the framework threw; anything else is returned as it is. */
export function translated(error: unknown, request: FastifyRequest): unknown {
  const code = codeOf(error);
  switch (code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
    case "FST_ERR_CTP_INVALID_TYPE":
      return wrongContentType(request);
    case "FST_ERR_BAD_URL":
    case "FST_ERR_MAX_PARAM_LENGTH":
      return located("path", "The path cannot be read; percent-encode it as UTF-8.", error);
    case "ECONNRESET":
    case "ERR_STREAM_PREMATURE_CLOSE":
      return wentAway(error);
    default:
      return isRefusedFile(error, request) ? noFile() : error;
  }
}

/** What sends the documentation's files throws for a name that leads out of their folder, or cannot be one. */
function isRefusedFile(error: unknown, { url }: FastifyRequest): boolean {
  return url.startsWith("/docs/static/") && !(error instanceof ServiceError);
}

function noFile(): ServiceError {
  const faults = [{ location: ["path"], message: "There is no such file.", type: "not_found" }];
  return new ServiceError({ code: "not_found", faults });
}

/** @throws HttpRefusal for a body that is compressed */
export function refuseEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding.toLowerCase() === "identity") return;
  const message = `The Content-Encoding is ${quoted(encoding)}; bodies are read as they are, without compression.`;
  throw new HttpRefusal({
    status: 415,
    code: "invalid",
    faults: [{ location: ["header", "content-encoding"], message, type: "unsupported_media_type" }],
  });
}

/** The code that the framework, or Node, gave an error. */
export function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}

/** Names the type that the route's document names. */
function wrongContentType({ headers, routeOptions }: FastifyRequest): HttpRefusal {
  const given = headers["content-type"];
  const [taken = "application/json"] = routeOptions.schema?.consumes ?? [];
  const what = given === undefined ? "There is no Content-Type" : `The Content-Type is ${quoted(given)}`;
  return new HttpRefusal({
    status: 415,
    code: "invalid",
    faults: [
      {
        location: ["header", "content-type"],
        message: `${what}; only ${taken} is read here.`,
        type: "unsupported_media_type",
      },
    ],
  });
}

function located(place: string, message: string, cause: unknown): ServiceError {
  return new ServiceError({
    code: "invalid",
    faults: [{ location: [place], message, type: "value_error" }],
    cause,
  });
}
