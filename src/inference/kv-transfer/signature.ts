// Mutual proof of servers that they know the shared secret, which is never sent: authentication codes of their
// messages (HMAC, RFC 2104).
import { createHmac, timingSafeEqual, type Hmac } from "node:crypto";

/** Names the scheme in `authorization`. */
export const transferScheme = "Hone-Transfer";

/** True if a header has a signature, valid or not. */
export function namesScheme(header: string | undefined): boolean {
  return header?.startsWith(`${transferScheme} `) ?? false;
}

/** A request for the prompt of a handle, for an entity. */
export interface TransferRequest {
  readonly handle: string;
  readonly entity: string;
}

/** Returns a signature in hex. It may be replayed without harm: a handle is released only once. */
export function signatureOf(secret: string, { handle, entity }: TransferRequest): string {
  return createHmac("sha256", secret)
    .update(JSON.stringify(["fetch", handle, entity]))
    .digest("hex");
}

/** True if a header has the signature of a request; in constant time. */
export function isSigned(secret: string, request: TransferRequest, header: string | undefined): boolean {
  const [scheme = "", signature = ""] = (header ?? "").split(" ");
  const expected = Buffer.from(signatureOf(secret, request));
  const given = Buffer.from(signature);
  return scheme === transferScheme && given.length === expected.length && timingSafeEqual(given, expected);
}

/** Returns a code over the bytes of an answer, bound to the handle. */
export function answerCode(secret: string, handle: string): Hmac {
  return createHmac("sha256", secret).update(JSON.stringify(["answer", handle]));
}

/** Size of an answer's code. */
export const codeBytes = 32;
