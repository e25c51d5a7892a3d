// Signatures that prove to another server that this server knows the shared secret, without sending it. They are
// authentication codes (HMAC, RFC 2104) of messages.
import { createHmac, timingSafeEqual, type Hmac } from "node:crypto";

/** Name of the scheme in the header `authorization`. */
export const transferScheme = "Hone-Transfer";

/** True if a header uses this scheme; its signature may be invalid. */
export function namesScheme(header: string | undefined): boolean {
  return header?.startsWith(`${transferScheme} `) ?? false;
}

/** An entity's request for a held prompt, which the handle identifies. */
export interface TransferRequest {
  readonly handle: string;
  readonly entity: string;
}

/**
 * Returns the signature of a request, in hex. Replaying it gains an attacker nothing, because a prompt is released only
 * once.
 */
export function signatureOf(secret: string, { handle, entity }: TransferRequest): string {
  return createHmac("sha256", secret)
    .update(JSON.stringify(["fetch", handle, entity]))
    .digest("hex");
}

/** True if a header has the valid signature of a request. Compares in constant time. */
export function isSigned(secret: string, request: TransferRequest, header: string | undefined): boolean {
  const [scheme = "", signature = ""] = (header ?? "").split(" ");
  const expected = Buffer.from(signatureOf(secret, request));
  const given = Buffer.from(signature);
  return scheme === transferScheme && given.length === expected.length && timingSafeEqual(given, expected);
}

/** Returns an HMAC that already covers the handle. The caller adds the bytes of the response to it. */
export function answerCode(secret: string, handle: string): Hmac {
  return createHmac("sha256", secret).update(JSON.stringify(["answer", handle]));
}

/** Size of a response's authentication code, in bytes. */
export const codeBytes = 32;
