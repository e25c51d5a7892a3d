// Signatures with which servers prove to each other that they know the shared secret, without sending it:
// authentication codes of their messages (HMAC, RFC 2104).
import { createHmac, timingSafeEqual, type Hmac } from "node:crypto";

/** Names the scheme in `authorization`. */
export const transferScheme = "Hone-Transfer";

/** True if a header uses this scheme, with a valid or an invalid signature. */
export function namesScheme(header: string | undefined): boolean {
  return header?.startsWith(`${transferScheme} `) ?? false;
}

/** Request of an entity for the prompt held under a handle. */
export interface TransferRequest {
  readonly handle: string;
  readonly entity: string;
}

/**
 * Returns the signature of a request, in hex. An attacker gains nothing by replaying it, because a handle is released
 * only once.
 */
export function signatureOf(secret: string, { handle, entity }: TransferRequest): string {
  return createHmac("sha256", secret)
    .update(JSON.stringify(["fetch", handle, entity]))
    .digest("hex");
}

/** True if a header has the valid signature of a request; compares in constant time. */
export function isSigned(secret: string, request: TransferRequest, header: string | undefined): boolean {
  const [scheme = "", signature = ""] = (header ?? "").split(" ");
  const expected = Buffer.from(signatureOf(secret, request));
  const given = Buffer.from(signature);
  return scheme === transferScheme && given.length === expected.length && timingSafeEqual(given, expected);
}

/** Returns an HMAC to compute over the bytes of an answer; it also covers the handle. */
export function answerCode(secret: string, handle: string): Hmac {
  return createHmac("sha256", secret).update(JSON.stringify(["answer", handle]));
}

/** Size of an answer's code. */
export const codeBytes = 32;
