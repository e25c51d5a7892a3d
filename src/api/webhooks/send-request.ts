// Sends one request to a webhook's receiver, and follows no redirects. The receiver's name is resolved once, and the
// connection uses an address that the operator allows, so that a later DNS answer cannot redirect the request. Only
// this module sends to webhook URLs.
import { isIP } from "node:net";
import { retryAfterSeconds } from "../../base/domain/waiting/retry-after.ts";
import { HttpClient, type FoundAddress, type HttpAnswer } from "../../base/http-client/http-client.ts";
import { HttpFailure } from "../../base/http-client/http-failure.ts";
import type { EgressAllowlist } from "./egress-allowlist.ts";
import { plainHost } from "./egress-allowlist.ts";
import { nameResolver, UnresolvedName, type ResolveName } from "./resolve-name.ts";

/** Maximum number of bytes read from an answer. If the answer is longer, the connection is closed. */
const answerBytesMax = 64 * 1024;
/** Maximum number of bytes of the answer that are kept for the webhook's owner. */
const keptBytes = 512;
const client = new HttpClient();

export interface SentRequest {
  readonly status: number;
  /** Beginning of the answer's body, as text. */
  readonly answer: string;
  /** Wait in seconds that the answer's Retry-After asks for; null if the answer has no such header. */
  readonly retryAfterSeconds: number | null;
}

export interface RequestToSend {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Error for a receiver that cannot be reached. The webhook's owner can read the message. */
export class UnreachableReceiver extends Error {}

export interface SendingOptions {
  /** Aborts the request, at any stage including name resolution. */
  readonly signal: AbortSignal;
  /** Resolves the receiver's name; by default with the machine's hosts file and name servers. */
  readonly resolve?: ResolveName;
}

/**
 * Returns the allowed addresses of a URL's host.
 *
 * @throws UnreachableReceiver if there is none; its message omits addresses, because the webhook's owner may not be
 * allowed to know them. Also throws the signal's reason once the signal aborts
 */
export async function addressesOf(
  url: URL,
  allowed: EgressAllowlist,
  { signal, resolve = nameResolver() }: SendingOptions,
): Promise<readonly FoundAddress[]> {
  const host = plainHost(url.hostname);
  if (!allowed.mayResolve(host))
    throw new UnreachableReceiver(
      `${host} is not among the destinations that this server may send to (webhooks.allowed)`,
    );
  const found = isIP(host) === 0 ? await resolved(host) : [{ address: host, family: isIP(host) }];
  const open = found.filter(({ address }) => allowed.mayConnect(host, address));
  if (open.length > 0) return open;
  throw new UnreachableReceiver(
    `${host} resolves to no address that this server may send to (webhooks.allowed)`,
  );

  async function resolved(name: string): Promise<readonly FoundAddress[]> {
    try {
      return await resolve(name, signal);
    } catch (cause) {
      if (!(cause instanceof UnresolvedName)) throw cause;
      throw new UnreachableReceiver(cause.message, { cause });
    }
  }
}

/**
 * Sends a POST request and reads the beginning of the answer.
 *
 * @throws UnreachableReceiver if the receiver cannot be reached; the signal's reason once it aborts
 */
export async function sendRequest(
  { url, headers, body }: RequestToSend,
  allowed: EgressAllowlist,
  options: SendingOptions,
): Promise<SentRequest> {
  const { signal } = options;
  const target = new URL(url);
  const addresses = await addressesOf(target, allowed, options);
  try {
    const answer = await client.send({
      method: "POST",
      url: target,
      headers: { ...headers, "content-type": "application/json" },
      body,
      signal,
      addresses,
    });
    return {
      status: answer.status,
      answer: await readPrefix(answer),
      retryAfterSeconds: retryAfterSeconds(answer.header("retry-after")),
    };
  } catch (cause) {
    throw cause instanceof HttpFailure ? new UnreachableReceiver(cause.message, { cause }) : cause;
  }
}

async function readPrefix({ body }: HttpAnswer): Promise<string> {
  const kept: Uint8Array[] = [];
  let byteCount = 0;
  try {
    for await (const piece of body) {
      if (byteCount < keptBytes) kept.push(piece.subarray(0, keptBytes - byteCount));
      byteCount += piece.length;
      if (byteCount > answerBytesMax) break;
    }
  } catch (cause) {
    if (!(cause instanceof HttpFailure)) throw cause;
    throw new UnreachableReceiver("the connection broke before the answer ended", { cause });
  }
  return Buffer.concat(kept).toString();
}
