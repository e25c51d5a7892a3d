// Converts errors of the web framework to errors of this API, and logs answers that break off.
import { Readable } from "node:stream";
import type { FastifyRequest, FastifyInstance } from "fastify";
import { quoted, ServiceError } from "../../base/domain/service-error.ts";
import { HttpRefusal, errorAnswer } from "./errors.ts";
import { clientDisconnected } from "./request-lifecycle.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import { IdleStreamError } from "./sse.ts";

/** Converts an error that the web framework threw; returns other errors unchanged. */
export function translateError(error: unknown, request: FastifyRequest): unknown {
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
      return clientDisconnected(error);
    default:
      return isRefusedFile(error, request) ? noFile() : error;
  }
}

/**
 * True for errors of the file server that serves the documentation page. It refuses invalid file names, and files
 * outside its folder.
 */
function isRefusedFile(error: unknown, { url }: FastifyRequest): boolean {
  return url.startsWith("/docs/static/") && !(error instanceof ServiceError);
}

function noFile(): ServiceError {
  const faults = [{ location: ["path"], message: "There is no such file.", type: "not_found" }];
  return new ServiceError({ code: "not_found", faults });
}

/**
 * Refuses a compressed body.
 *
 * @param takesGzip true for routes that decompress bodies with gzip
 * @throws HttpRefusal if the Content-Encoding is not `identity`
 */
export function refuseEncoding(encoding: string | undefined, takesGzip = false): void {
  if (encoding === undefined || encoding.toLowerCase() === "identity") return;
  if (takesGzip && encoding.toLowerCase() === "gzip") return;
  const cure = takesGzip ? "only gzip is supported here" : "compressed bodies are not supported";
  const message = `The Content-Encoding is ${quoted(encoding)}; ${cure}.`;
  throw new HttpRefusal({
    status: 415,
    code: "invalid",
    faults: [{ location: ["header", "content-encoding"], message, type: "unsupported_media_type" }],
  });
}

/** Returns the `code` that the framework or Node sets on its errors; undefined for other values. */
export function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}

/** Returns the refusal of a wrong Content-Type, with a message that contains the type which the route accepts. */
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
        message: `${what}; only ${taken} is accepted here.`,
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

/**
 * Logs why a streamed answer broke off, because the client only sees the connection end. Disconnects by the client are
 * not logged. Other modules log event streams, and answers that fail before their first byte.
 */
export function logBrokenOff(app: FastifyInstance, logger: Logger): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    if (payload instanceof Readable)
      payload.once("error", (error) => {
        if (!reply.raw.headersSent || reply.raw.destroyed) return;
        const { method, id: requestId } = request;
        const fields = { requestId, method, route: request.routeOptions.url ?? "none", err: error };
        if (isExpected(error, requestId)) logger.warn(fields, "answer broken off");
        else logger.error(fields, "answer failed");
      });
    done(null, payload);
  });
}

/**
 * True for errors that are not bugs: the data was deleted meanwhile, the client stopped reading, or the read budget had
 * no room in time.
 */
function isExpected(error: unknown, requestId: string): boolean {
  return error instanceof IdleStreamError || errorAnswer(error, requestId).status !== 500;
}
