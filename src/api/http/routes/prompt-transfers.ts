// POST /v1/kv-transfers: lets another server fetch the KV cache of a prompt that this server holds; each prompt can be
// fetched only once. Servers prove with a signature that they share a secret; API keys are not accepted.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { transferPath } from "../../../inference/kv-transfer/fetch-prompt.ts";
import { namesScheme, transferScheme } from "../../../inference/kv-transfer/signature.ts";
import { transferRequestSchema } from "../../wire/transfer/transfer-request.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { HttpRefusal } from "../errors.ts";
import { sendPieces } from "../paced-answer.ts";
import type { GuardCounts } from "../request-scope.ts";
import { onResponseEnd } from "../request-lifecycle.ts";

/** Maximum size of a body in bytes: enough for the handle of a prompt and the name of an entity. */
const bodyBytesMax = 4096;

export function promptTransferRoute(
  app: FastifyInstance,
  { exchange, settings }: Pick<HttpDependencies, "exchange" | "settings">,
  { failedLogins, connections }: Pick<GuardCounts, "failedLogins" | "connections">,
): void {
  const refuseUnsigned = (request: FastifyRequest, message: string): never => {
    failedLogins.count({ address: request.ip, requestId: request.id });
    throw unsigned(message);
  };
  // The signature covers the body, so the server must read the body before it can authenticate the request. The body
  // must therefore be short, and is not read if the request cannot succeed.
  const preParsing = async (request: FastifyRequest): Promise<void> => {
    if (exchange === null) throw notHeld();
    if (!namesScheme(request.headers.authorization))
      refuseUnsigned(request, `Send authorization: ${transferScheme} <signature>.`);
  };
  endpoints(app, { tag: "chat" })(
    `POST ${transferPath}`,
    {
      summary: "Send a prompt's KV cache to another server",
      description: `Only another Hone server with the same secret (\`transfer.secret\`) calls this route, and signs its request with the secret: \`authorization: ${transferScheme} <signature>\`. The server keeps the KV cache of a prompt if the prompt's request had \`do_remote_decode\`. Each KV cache can be fetched only once.`,
      body: { schema: transferRequestSchema },
      answer: "The prompt's keys and values, and the logits after its last token.",
      bytes: { type: "string", format: "binary" },
      options: { bodyLimit: bodyBytesMax, preParsing },
    },
    async ({ body: asked, request, reply }) => {
      if (exchange === null) throw notHeld();
      const held = await exchange.open(asked, request.headers.authorization).catch((error: unknown) => {
        if (!(error instanceof ServiceError) || error.code !== "unauthorized") throw error;
        return refuseUnsigned(request, error.message);
      });
      if (held === null) throw notHeld();
      onResponseEnd(reply.raw, connections.enter(request.raw.socket, asked.entity));
      reply.type("application/octet-stream").header("content-length", held.byteLength);
      return sendPieces(reply, held.pieces, settings);
    },
  );
}

function notHeld(): ServiceError {
  const message = "No such prompt is held: it was fetched, it expired, or it was never here.";
  const faults = [{ location: ["body", "handle"], message, type: "not_found" }];
  return new ServiceError({ code: "not_found", faults });
}

function unsigned(message: string): HttpRefusal {
  return new HttpRefusal({
    status: 401,
    code: "unauthorized",
    faults: [{ location: ["header", "authorization"], message, type: "unauthorized" }],
    headers: { "www-authenticate": transferScheme },
  });
}
