// Receives bodies within their limits, and parses JSON. Most routes receive the parsed value; routes marked `rawBody`
// receive the bytes.
import type { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Caller } from "../../../base/domain/access.ts";
import { loopTurns } from "../../../base/domain/sharing/loop-turns.ts";
import { keyless } from "../../../base/domain/sharing/tenant-shares.ts";
import { parseJsonBody } from "../../../base/validation/json-body.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { refuseEncoding } from "../framework-errors.ts";
import { onResponseEnd } from "../request-lifecycle.ts";
import { bodyLimits } from "../settings.ts";
import { askForBody } from "./body-reader.ts";
import { type ByteBudget, gatherBody } from "./gather-body.ts";

export { jsonType, protobufType } from "../../../train/trainer/tinker/wire/encoding.ts";

/** Minimum size in bytes of a body whose parsing waits for a turn. Smaller bodies take negligible time. */
const turnBodyBytes = 4096;

/** Makes the routes of `app` take bodies of these content types. */
export function takeBodies(
  app: FastifyInstance,
  settings: HttpDependencies["settings"],
  budget: ByteBudget,
  contentTypes: readonly string[],
): void {
  const { json } = bodyLimits(settings);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser([...contentTypes], async (request: FastifyRequest, stream: Readable) => {
    const { takesRawBody, takesGzip, headCheck } = request.routeOptions.config;
    refuseEncoding(request.headers["content-encoding"], takesGzip);
    // Contrary to its type, `caller` is null on routes without authentication. Bodies are small on these routes.
    const caller = request.caller as Caller | null;
    const held = budget.forBody(caller?.entity ?? keyless);
    onResponseEnd(request.response, () => held.release());
    const body = await gatherBody(stream, {
      headers: request.headers,
      bytesMax: request.routeOptions.bodyLimit ?? settings.otherBodyBytes,
      held,
      onReading: () => askForBody(request),
      ...(headCheck === undefined ? {} : { head: headCheck(request) }),
    });
    // Many small bodies together take as long as a large one, so they take turns, too.
    if (body.byteCount > turnBodyBytes) await loopTurns.next(held.tenant);
    return takesRawBody === true ? body : parseJsonBody(Buffer.concat(body.pieces), json);
  });
}
