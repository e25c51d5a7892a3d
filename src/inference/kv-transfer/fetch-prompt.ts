// Fetches a prompt that another server holds, and passes it to the engine piece by piece.
import type { HeldPrompt, PromptOrigin, PromptTransfers } from "../../base/domain/prompt-transfer.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { HttpClient } from "../../base/http-client/http-client.ts";
import type { Peer } from "./peers.ts";
import { readBody } from "./prompt-body.ts";
import { signatureOf, transferScheme, type TransferRequest } from "./signature.ts";
import { TransferFailure } from "./transfer-failure.ts";

/** Origin and tokens of the prompt that a request needs. */
export interface WantedPrompt {
  readonly origin: PromptOrigin;
  readonly tokenIds: readonly number[];
}

const client = new HttpClient();

/** Path of the other server's route for held prompts. */
export const transferPath = "/v1/kv-transfers";

/**
 * Makes the engine receive the prompt under an id. If this fails, the engine may hold a part of the prompt, which the
 * caller must drop.
 *
 * @param options.signal its reason is thrown unchanged
 * @returns how many leading tokens of the wanted prompt the received prompt covers, and its size
 * @throws TransferFailure
 */
export async function fetchPrompt(
  {
    peer,
    request,
    secret,
  }: { readonly peer: Peer; readonly request: TransferRequest; readonly secret: string },
  wanted: WantedPrompt,
  { engine, id }: { readonly engine: PromptTransfers; readonly id: string },
  { signal }: { readonly signal: AbortSignal },
): Promise<{ readonly tokenCount: number; readonly byteLength: number }> {
  const fetched = { tokenCount: 0, byteLength: 0 };
  const sink = {
    expect: async (prompt: HeldPrompt) => {
      fetched.tokenCount = usableCount(prompt, wanted);
      fetched.byteLength = prompt.byteLength;
      await engine.expect(id, prompt);
    },
    write: (offset: number, bytes: Uint8Array) => engine.write(id, offset, bytes),
  };
  try {
    const body = await ask(peer, request, { secret, signal });
    await readBody(body, sink, { secret, handle: request.handle });
    return fetched;
  } catch (error) {
    signal.throwIfAborted();
    throw failureOf(error);
  }
}

async function ask(
  peer: Peer,
  request: TransferRequest,
  { secret, signal }: { readonly secret: string; readonly signal: AbortSignal },
): Promise<AsyncIterable<Uint8Array>> {
  const { status, body, release } = await client.send({
    method: "POST",
    url: new URL(transferPath, peer.origin),
    headers: {
      "content-type": "application/json",
      authorization: `${transferScheme} ${signatureOf(secret, request)}`,
    },
    body: JSON.stringify(request),
    // A redirect could lead to a server that the operator did not name.
    refusesRedirects: true,
    signal,
  });
  if (status === 200) return body;
  release();
  if (status === 401 || status === 429)
    throw new TransferFailure("refused", "it does not know this server's secret");
  if (status === 404)
    throw new TransferFailure(
      "gone",
      "it does not hold the prompt: the prompt was fetched or expired, or the server was restarted",
    );
  throw new TransferFailure("unreachable", `it answered with status ${status}`);
}

/**
 * Returns how many leading tokens of the wanted prompt the held prompt covers.
 *
 * @throws TransferFailure if the held prompt covers none of them
 */
function usableCount(prompt: HeldPrompt, { origin, tokenIds }: WantedPrompt): number {
  // Safe cast: the keys of `origin` are the properties that must match.
  const names = Object.keys(origin) as (keyof PromptOrigin)[];
  const other = names.filter((name) => prompt.origin[name] !== origin[name]);
  if (other.length > 0)
    throw new TransferFailure(
      "different",
      `it computed the prompt with another ${other.join(" and another ")}`,
    );
  let count = 0;
  while (count < tokenIds.length && prompt.tokenIds[count] === tokenIds[count]) count += 1;
  if (count > 0) return count;
  throw new TransferFailure("different", "it holds another prompt");
}

/** Converts an error to a TransferFailure. Throws errors that come neither from a server nor from a connection. */
function failureOf(error: unknown): TransferFailure {
  if (error instanceof TransferFailure) return error;
  if (error instanceof ServiceError)
    return error.code === "overloaded"
      ? new TransferFailure("no-room", "this server has no room for the prompt", { cause: error })
      : new TransferFailure("different", "its prompt does not fit this server's engine", { cause: error });
  return new TransferFailure("unreachable", "it cannot be reached, or the connection broke", {
    cause: error,
  });
}
