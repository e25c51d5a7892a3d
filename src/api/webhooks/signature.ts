// Signs webhook requests so that a receiver can verify their origin and age. It uses the symmetric signature of
// Standard Webhooks 1.0 (https://www.standardwebhooks.com, "v1"): HMAC-SHA256 over id, time and body.
import { createHmac } from "node:crypto";
import { secureBytes } from "../../base/domain/random.ts";

const prefix = "whsec_";
/** Sizes in bytes: the limits for a secret in the standard, and the size of the secrets that Hone makes. */
const secretBytes = { min: 24, max: 64, ours: 32 } as const;

/** Returns a new random secret. */
export function newSecret(): string {
  return `${prefix}${Buffer.from(secureBytes(secretBytes.ours)).toString("base64")}`;
}

/** True if the text is a secret in the standard's form: `whsec_` followed by the base64 of 24 to 64 bytes. */
export function isSecret(text: string): boolean {
  if (!text.startsWith(prefix)) return false;
  const encoded = text.slice(prefix.length);
  const bytes = Buffer.from(encoded, "base64");
  return (
    bytes.toString("base64") === encoded && bytes.length >= secretBytes.min && bytes.length <= secretBytes.max
  );
}

/**
 * Returns the headers that identify and sign an event: its id, the time of sending, and the signature of id, time and
 * body.
 */
export function signedHeaders(
  secret: string,
  { id, at, body }: { readonly id: string; readonly at: Date; readonly body: string },
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const key = Buffer.from(secret.slice(prefix.length), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}
