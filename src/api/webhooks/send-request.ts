// One request to a receiver. It goes to an address that the operator allows: names are resolved here, each address is
// checked, and the connection is made to one of those that passed, so that no second answer of a name server counts.
// Redirects are not followed. The only place that sends to where a webhook says.
import { isIP } from "node:net";
import { retryAfterSeconds } from "../../base/domain/waiting/retry-after.ts";
import { HttpClient, type FoundAddress, type HttpAnswer } from "../../base/http-client/http-client.ts";
import { HttpFailure } from "../../base/http-client/http-failure.ts";
import type { AllowedPlaces } from "./egress-allowlist.ts";
import { plainHost } from "./egress-allowlist.ts";
import { nameResolver, UnresolvedName, type ResolveName } from "./resolve-name.ts";

/** What of an answer is read at most; the connection is closed behind it. */
const answerBytesMax = 64 * 1024;
/** Of that, what is kept. */
const keptBytes = 512;
const client = new HttpClient();

export interface SentRequest {
  readonly status: number;
  /** The first bytes of the answer, as text. */
  readonly answer: string;
  /** What it says of when to try again; null where it does not. */
  readonly retryAfterSeconds: number | null;
}

export interface RequestToSend {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A receiver that cannot be asked, in words for who made the webhook. */
export class UnreachableReceiver extends Error {}

export interface SendingOptions {
  /** Ends it, the look-up of its name included. */
  readonly signal: AbortSignal;
  /** Asks the machine's name servers unless given. */
  readonly resolve?: ResolveName;
}

/**
 * The addresses that a URL leads to and that requests may go to.
 *
 * @throws UnreachableReceiver where there is none, without the addresses: whoever made the webhook may not know them; the
 *   signal's reason
 */
export async function addressesOf(
  url: URL,
  allowed: AllowedPlaces,
  { signal, resolve = nameResolver() }: SendingOptions,
): Promise<readonly FoundAddress[]> {
  const host = plainHost(url.hostname);
  if (!allowed.mayResolve(host))
    throw new UnreachableReceiver(
      `${host} is not among the places that this server may send to (webhooks.allowed)`,
    );
  const found = isIP(host) === 0 ? await resolved(host) : [{ address: host, family: isIP(host) }];
  const open = found.filter(({ address }) => allowed.mayConnect(host, address));
  if (open.length > 0) return open;
  throw new UnreachableReceiver(
    `${host} leads to no address that this server may send to (webhooks.allowed)`,
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
 * Sends a POST and reads the beginning of what is answered.
 *
 * @throws UnreachableReceiver; the signal's reason
 */
export async function sendRequest(
  { url, headers, body }: RequestToSend,
  allowed: AllowedPlaces,
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
