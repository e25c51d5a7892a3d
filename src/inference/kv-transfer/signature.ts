// How servers show each other that they know the secret, which itself never travels: codes of what they say (HMAC, RFC 2104).
import { createHmac, timingSafeEqual, type Hmac } from "node:crypto";

/** Names the scheme in `authorization`. */
export const transferScheme = "Hone-Transfer";

/** True if a header has a signature, be it right or wrong. */
export function namesScheme(header: string | undefined): boolean {
  return header?.startsWith(`${transferScheme} `) ?? false;
}

/** Of a request for the prompt of a handle, for an entity. */
export interface TransferRequest {
  readonly handle: string;
  readonly entity: string;
}

/** Hex. A handle is given away once: whoever repeats the request gets nothing. */
export function signatureOf(secret: string, { handle, entity }: TransferRequest): string {
  return createHmac("sha256", secret)
    .update(JSON.stringify(["fetch", handle, entity]))
    .digest("hex");
}

/** Whether a header has the signature of a request; in constant time. */
export function isSigned(secret: string, request: TransferRequest, header: string | undefined): boolean {
  const [scheme = "", signature = ""] = (header ?? "").split(" ");
  const expected = Buffer.from(signatureOf(secret, request));
  const given = Buffer.from(signature);
  return scheme === transferScheme && given.length === expected.length && timingSafeEqual(given, expected);
}

/** A code over the bytes of an answer, to the request of a handle. */
export function answerCode(secret: string, handle: string): Hmac {
  return createHmac("sha256", secret).update(JSON.stringify(["answer", handle]));
}

/** Of an answer's code. */
export const codeBytes = 32;
